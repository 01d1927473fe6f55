// Ops that return their operands unchanged and annotate them for remat, differentiation or the
// compiler.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>

#include "ir/devices/mesh.h"
#include "ir/tensor.h"

namespace axle {

/// Returns x, tagged with a name that remat policies can refer to. Later code must use the returned
/// tensor: the tag has no effect on x.
Tensor name(const Tensor& x, std::string_view tag);
/// Returns the tag of a `name` op, or "" for every other op.
std::string_view tag_of(const OpNode& op);
/// Returns x as a constant for differentiation.
Tensor stop_gradient(const Tensor& x);
/// Returns the same values behind a barrier: the compiler moves and merges no ops across it.
/// Gradients pass through without a barrier.
Values optimization_barrier(const Values& values);
/// Where a device keeps a value.
enum class Memory {
  kDevice,
  kHost,  // pinned memory of the device's host; a target without it keeps the value on the device
};
/// Returns x, moved to `memory`. The gradient is not moved.
Tensor place(const Tensor& x, Memory memory);
/// Returns the memory of a `place` op, or none for every other op.
std::optional<Memory> memory_of(const OpNode& op);
/// Returns x, sharded over the mesh by `spec`. The gradient is sharded in the same way. Dims beyond
/// the spec are replicated. Throws ShapeError if the spec has more dims than x.
Tensor sharding_constraint(const Tensor& x, const PartitionSpec& spec);
/// Returns the spec of a `sharding_constraint` op, or nullptr for every other op.
const PartitionSpec* constraint_of(const OpNode& op);

// Values that a program delivers besides its results.
//
// A tap is an op that marks its operands. It changes no number and no gradient, and costs nothing
// until collect_taps (transform/taps/taps.h) makes extra results of its operands. Dead code
// elimination keeps taps.

/// Attributes of a tap.
struct TapAttributes : EffectAttributes {
  TapAttributes(std::string_view n, std::string_view f) : name(n), format(f) {}
  std::string name;
  /// Text to print with the values, one "{}" for each; empty: the values are only delivered.
  std::string format;
  std::string text() const override;
};
/// Returns the attributes of a tap, or nullptr for every other op.
const TapAttributes* tap_of(const OpNode& op);

/// Delivers x under `name`, and returns x itself.
Tensor tap(std::string_view name, const Tensor& x);

/// Returns x. Differentiation delivers the cotangent of the returned tensor under `name`. Later
/// code must use the returned tensor. Nothing is delivered where no gradient flows.
Tensor tap_gradient(std::string_view name, const Tensor& x);

/// Prints the values on the host after the program has run, each in place of one "{}" of `format`.
/// Throws ShapeError if the number of "{}" differs from that of the values.
void debug_print(std::string_view format, const Values& values);
template <std::same_as<Tensor>... T>
void debug_print(std::string_view format, const T&... values) {
  debug_print(format, Values{values...});
}

/// Returns the format with each "{}" replaced by one of the texts.
std::string formatted(std::string_view format, const std::vector<std::string>& texts);

}  // namespace axle
