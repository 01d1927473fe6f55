// The role Router: chooses the experts of each token in a mixture of experts.
//
// Letters in tensor names, for this folder:
//   B batch   T positions   D model dim   H hidden dim   E experts   K choices of a token
//   O outer batch   G groups of tokens   S tokens of a group   C capacity of an expert
#pragma once

#include "config/fields/ranged.h"
#include "layers/experts/token_groups.h"
#include "nn/layer.h"

namespace axle {

/// The choices of a router.
struct Routing {
  /// i32[B, T, K]: the experts of each token, all different. Where capacity is short, first choices
  /// precede second ones.
  Tensor experts_BTK;
  /// f32[B, T, K]: the weight of each chosen expert in the result.
  Tensor weights_BTK;
  /// f32 scalars that the objective must include, by name. They include their weights.
  Tree<Tensor> losses = {};

  template <class F>
  void each_field(F&& fn) {
    fn("experts", experts_BTK);
    fn("weights", weights_BTK);
    fn("losses", losses);
  }
};

/// The sizes of a router, given by the layer with the experts.
struct RouterDims {
  /// Size of the last dim of x.
  Positive<int64_t> model_dim;
  /// Number of experts to choose from.
  Positive<int64_t> num_experts;
  /// The tokens of a batch form this many groups. Loads are balanced in each of them.
  Positive<int64_t> num_groups;
  /// What the borders between groups count in training.
  GroupBorders train_borders = GroupBorders::kTokens;
  AXLE_CONFIG(RouterDims, model_dim, num_experts, num_groups, train_borders)
};

/// x_BTD -> the experts of each token and their weights. A token's choice depends on this token
/// alone. Padding also gets experts; losses, loads and statistics do not count it (real_tokens).
class Router : public LayerRole<Router, Routing(const Tensor& x_BTD)> {
 public:
  using Dims = RouterDims;
  static constexpr InputNames kInputs = {"x"};
  static constexpr InputVectors kVectors = {&Dims::model_dim, 3};
  using LayerRole::LayerRole;
  bool can_decode() const override { return true; }
  /// K, the number of experts that a token gets.
  virtual int64_t num_choices() const = 0;

 protected:
  friend LayerRole;
  void check_result(const Routing& routing, const Tensor& x_BTD) const;
};

extern template class LayerRole<Router, Router::Signature>;

}  // namespace axle
