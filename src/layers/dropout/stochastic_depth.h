// Dropout of whole residual branches.
//
// Source: Huang et al. 2016, arXiv 1603.09382, section 3.
#pragma once

#include "nn/layer.h"

namespace axle {

/// What a StochasticDepth drops at once.
enum class DropUnit { kRow, kBatch };
constexpr auto texts_of(DropUnit) {
  return std::to_array<EnumText<DropUnit>>({{DropUnit::kRow, "row"}, {DropUnit::kBatch, "batch"}});
}

/// Zeroes rows of the batch, or the whole batch, with probability `rate` during training and
/// divides the others by 1 - rate. Outside of training it returns x.
///
/// Shapes: x[B, ...] f32|bf16 -> the same.
/// Throws ConfigError at construction unless 0 <= rate < 1, and when called during training without
/// a key.
class StochasticDepth final : public LayerRole<StochasticDepth, Tensor(const Tensor& x)> {
 public:
  /// Empty: no sizes are needed.
  struct Dims {
    AXLE_CONFIG(Dims)
  };
  static constexpr InputNames kInputs = {"x"};
  struct Config {
    /// Probability of 0 during training.
    FractionBelowOne rate = 0;
    /// What one draw drops: a row of the batch, or all rows.
    DropUnit mode = DropUnit::kRow;
    static constexpr std::string_view kFromNumber = "rate";
    AXLE_CONFIG(StochasticDepth, rate, mode)
  };
  StochasticDepth(const Config& cfg, const Dims&, const Scope& scope);
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  double rate_;
  DropUnit mode_;
};

}  // namespace axle
