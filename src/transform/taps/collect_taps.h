// Turns the taps of a program (ops/annotate.h) into extra results.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/host_tensor.h"
#include "transform/trace.h"

namespace axle {

/// A tap and the results of the program that hold its values.
struct CollectedTap {
  /// "<layer path>/<name>". A path that occurs again ends in "#2", "#3", ...
  std::string name;
  /// The layer path alone.
  std::string scope;
  /// The format of debug_print; empty for other taps.
  std::string format;
  /// Indices of the results with its values: one, or several for debug_print. Leading dims run over
  /// the iterations of the loops around the tap and the devices of a shard_map (taps/observe.h).
  std::vector<size_t> results;
  size_t num_leading_dims = 0;
  /// Index of the predicate that tells, for each index of the leading dims, whether the tap ran.
  /// None: it always ran.
  std::optional<size_t> ran = {};
};

struct Tapped {
  std::shared_ptr<const Region> region;  // without taps
  std::vector<CollectedTap> taps;
};

enum class Collect { kAll, kPrints };
/// Returns the program whose further results are the values of its taps. Its own results keep their
/// bits.
///
///   scan: values are stacked along a leading dim;
///   cond: values of branches that are not taken are zeros, marked as not run;
///   while: values of the first 16 iterations are stacked. Taps in the condition are ignored;
///   shard_map: values of all devices are stacked;
///   remat: a tap of the forward pass is not delivered again when it is recomputed;
///   custom_vjp: if it is differentiated, the taps of its forward function count.
Tapped collect_taps(const Region& region, Collect which = Collect::kAll);

/// Returns the lines of a debug_print: one for each index of the leading dims at which it ran,
/// "decoder/layers/layer[3]: x = 0.5". `results` are the results of the program.
std::vector<std::string> printed_lines(const CollectedTap& print,
                                       const std::vector<HostTensor>& results);

}  // namespace axle
