// Values that a program delivers besides its results.
//
// A tap is an op that marks its operands. It changes no number and no gradient, and costs nothing
// until collect_taps (transform/taps/collect_taps.h) makes extra results of its operands. Dead code
// elimination keeps taps.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

#include "ir/effect.h"
#include "ir/tensor.h"

namespace axle {

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
