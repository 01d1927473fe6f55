// Dropout of whole tokens, which shortens the sequence.
//
// Letters in tensor names, for this file only:
//   B batch   T positions   K kept positions   D model dim
//
// Source: Li et al. 2022, arXiv 2212.00794, section 3.1.
#pragma once

#include "nn/layer.h"

namespace axle {

/// Keeps a random part of the tokens of each row during training, in random order. Outside of
/// training it returns x.
///
/// Shapes: x_BTD -> y_BKD, dtype of x. K is num_first plus (1 - rate) * (T - num_first), rounded to
/// the nearest integer, halves to the even one.
/// With segment ids of the call (Invocation::segment_ids), the share counts tokens alone: a row
/// keeps that share of its tokens in front, and padding fills what is left. The output
/// "segment_ids" i32[B, K] then says what was kept; 0 is padding. Throws ShapeError if no token
/// would be left, ConfigError when called during training without a key.
class DropToken final : public LayerRole<DropToken, Tensor(const Tensor& x_BTD)> {
 public:
  /// Empty: no sizes are needed.
  struct Dims {
    AXLE_CONFIG(Dims)
  };
  static constexpr InputNames kInputs = {"x"};
  struct Config {
    /// Share of the tokens that training drops.
    FractionBelowOne rate = 0;
    /// Number of tokens at the start of each row that are always kept, in front.
    NonNegative<int64_t> num_first = 0;
    static constexpr std::string_view kFromNumber = "rate";
    AXLE_CONFIG(DropToken, rate, num_first)
  };
  DropToken(const Config& cfg, const Dims&, const Scope& scope);
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& x_BTD) override;

 private:
  double rate_;
  int64_t num_first_;
};

}  // namespace axle
