// The search for the op that made the first NaN or infinity of a program.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "transform/taps/observe.h"

namespace axle {

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
