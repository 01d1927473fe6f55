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
  /// False if the slot asks for statistics, which are those of the whole tensor.
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

}  // namespace axle
