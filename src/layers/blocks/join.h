// The role Join: how a block joins the result of its body with its input.
//
// Letters in tensor names, for this file only:
//   B batch   T positions   D model dim
#pragma once

#include "layers/mesh_axes.h"
#include "nn/layer.h"

namespace axle {

/// x_BTD and the result of the body y_BTD -> z_BTD, dtype of x.
class Join : public LayerRole<Join, Tensor(const Tensor& x_BTD, const Tensor& y_BTD)> {
 public:
  /// Empty: a join needs no sizes.
  struct Dims {
    AXLE_CONFIG(Dims)
  };
  static constexpr InputNames kInputs = {"x", "y"};
  static constexpr bool kKeepsType = true;
  using LayerRole::LayerRole;
  /// A join looks only at its own position.
  bool can_decode() const override { return true; }
};

/// z = x + weight * y.
class Add final : public Join {
 public:
  struct Config {
    /// Factor of the body's result: any number.
    double weight = 1;
    static constexpr std::string_view kFromNumber = "weight";
    AXLE_CONFIG(Add, weight)
  };
  Add(const Config& cfg, const Dims&, const Scope& scope) : Join(scope), weight_(cfg.weight) {}

 protected:
  Tensor forward(const Tensor& x_BTD, const Tensor& y_BTD) override;

 private:
  double weight_;
};

extern template class LayerRole<Join, Join::Signature>;

}  // namespace axle
