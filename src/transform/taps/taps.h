// What is read from inside of a traced function: published values, the first values that differ
// from another run, the first that are not finite.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/host_tensor.h"
#include "transform/taps/observe.h"
#include "transform/trace.h"

namespace axle {

// Turns the taps of a program (ops/annotate.h) into extra results.

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

// Comparison of two programs that should compute the same: one program on two runtimes, in two
// dtypes, or before and after a change.

/// A program, and how it runs with its arguments.
struct ComparedProgram {
  const Region& region;
  RunRegion run;
};
/// Returns a function that interprets a program with these arguments.
RunRegion interpreted(std::vector<HostTensor> arguments, const EvalOptions& options = {});

struct CompareOptions {
  /// Floats may differ by this share of the largest finite magnitude in either tensor. Other dtypes
  /// must be equal.
  double tolerance = 1e-5;
  /// Bytes of values that are fetched from each program at once.
  int64_t max_bytes = int64_t{64} << 20;
};

/// The first op whose operands agree and whose result differs.
struct Difference {
  std::string op, scope;
  /// For each loop and shard_map around the op, the outermost first: the index of the iteration or
  /// of the device.
  std::vector<int64_t> iterations;
  size_t result = 0;    // which result of the op
  double largest = 0;   // largest difference; infinity if only one of the numbers is finite
  Shape position = {};  // where. Complex numbers have a last dim: 0 real, 1 imaginary
  double a = 0, b = 0;  // the numbers there
  std::vector<OperandStatistics> operands_a, operands_b;
  Statistics result_a, result_b;
};

struct Comparison {
  std::optional<Difference> first;  // none: all values that both programs have agree
  /// Ops that the programs do not have equally often, one line for each kind. Not compared.
  std::vector<std::string> unmatched;
};
std::string to_text(const Comparison& comparison);

/// Compares the results of all ops, in their order, until one differs; then those in the bodies of
/// that op, down to a single op and iteration. Fetches the values in chunks.
///
/// Ops correspond if they are the same kind in the same layer path with results of the same dims,
/// and each program has equally many of them: the first to the first, and so on.
Comparison compare(const ComparedProgram& a, const ComparedProgram& b,
                   const CompareOptions& options = {});

// The search for the op that made the first NaN or infinity of a program.

/// The op that made the first non-finite number, or the argument that brought it in.
struct NonFiniteOrigin {
  std::string op;     // "exp"; empty: an argument of the program
  std::string scope;  // layer path, or name of the argument
  /// For each loop around the op, the outermost first: the index of the iteration. For a scan it is
  /// the index of the slice, such as the number of a layer.
  std::vector<int64_t> iterations;
  /// In a shard_map, the place of the device along the mesh axes: "data=1, model=0". Operands and
  /// result are then the parts of this device. Elsewhere they are whole tensors, even if sharded.
  std::string device;
  bool backward = false;  // it is part of a backward pass
  bool is_nan = false;    // else infinite
  std::vector<OperandStatistics> operands;
  Statistics result;
  std::vector<int64_t> index;  // of the first element of the result that is not finite
};

/// Returns lines: op, layer path and iteration, then the operands and the result.
std::string to_text(const NonFiniteOrigin& origin);

/// Follows non-finite numbers backwards, from what the program itself checks with is_finite, or
/// else from its results. Returns the first op on the way that makes a NaN or an infinity from
/// finite operands, or a NaN from constant infinities. Enters the bodies of ops; of a while loop,
/// the first 256 iterations. Scalars that the program checks come first: those of a training step
/// are its loss and the norm of its gradient, whose sources are a part of the step. Runs a program
/// that marks the sources of these scalars, one that marks all values if they are finite, and one
/// that measures the operands and the result of the op found.
///
/// Returns none if all these numbers are finite, or come from constants alone.
std::optional<NonFiniteOrigin> find_non_finite(const Region& program, const RunRegion& run);

}  // namespace axle
