// Dropout.
//
// Source: Srivastava et al. 2014, JMLR 15, section 10 (the variant that scales during training).
#pragma once

#include <functional>

#include "nn/layer.h"

namespace axle {

/// Zeroes each element with probability `rate` during training and divides the others by 1 - rate.
/// Outside of training it returns x.
///
/// Throws ConfigError at construction unless 0 <= rate < 1, and when called during training without
/// a key.
class Dropout final : public LayerRole<Dropout, Tensor(const Tensor& x)> {
 public:
  /// Empty: dropout needs no sizes.
  struct Dims {
    AXLE_CONFIG(Dims)
  };
  static constexpr InputNames kInputs = {"x"};
  struct Config {
    /// Share of the elements set to 0 during training; the others are divided by 1 - rate.
    FractionBelowOne rate = 0;
    static constexpr std::string_view kFromNumber = "rate";
    AXLE_CONFIG(Dropout, rate)
  };
  Dropout(const Config& cfg, const Dims&, const Scope& scope);
  bool can_decode() const override { return true; }

  /// Drops elements of a part of a tensor. The part begins at `begin`, an i32 scalar for each dim.
  using OfPart = std::function<Tensor(const Tensor& part, const Values& begin)>;
  /// A call for a tensor of the shape `whole` that is never made: the result drops, of each part,
  /// the elements that operator() would drop. Needs a key that draws parts (random::draws_parts),
  /// and can_drop_parts().
  OfPart of_parts(const Shape& whole);
  /// False if the slot asks for statistics, which are of the whole tensor.
  bool can_drop_parts() const { return options().stats.empty(); }
  /// True if calls drop elements: in training, unless the rate is 0.
  bool drops() const;

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  Tensor without(const Tensor& dropped, const Tensor& x) const;
  double rate_;
};

extern template class LayerRole<Dropout, Dropout::Signature>;

// Dropout of whole residual branches.
//
// Source: Huang et al. 2016, arXiv 1603.09382, section 3.

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

// Dropout of whole tokens, which shortens the sequence.
//
// Letters in tensor names from here on:
//   B batch   T positions   K kept positions   D model dim
//
// Source: Li et al. 2022, arXiv 2212.00794, section 3.1.

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
