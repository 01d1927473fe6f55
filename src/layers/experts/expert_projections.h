// Equal projections with parameters of their own, one for each expert.
#pragma once

#include <optional>
#include <set>

#include "layers/dense/projection.h"

namespace axle {

/// Runs one projection for each expert. The parameters have the paths of the projection and a
/// leading dim that counts the experts, sharded over the mesh axis `expert`: weight[E, I, O].
///
/// Any projection will do: each of its products with a weight is one batched or one ragged product.
/// State of the projection is shared by all experts. Throws ShapeError in a call that sets state
/// that differs between tokens or experts, unless its StateUpdate says how to merge it.
class ExpertProjections {
 public:
  ExpertProjections(Handle<Projection> one, int64_t num_experts);

  Tree<ParamSpec> param_specs() const;
  /// Each expert draws from a key of its own.
  Tree<Tensor> initialize(const random::Key& key) const;
  /// Without sizes: x[E, .., I] -> y[E, .., O], where dim 0 counts the experts. With sizes i32[E]:
  /// x_MI -> y_MO, where the rows are sorted by expert. Summaries of the projection are dropped.
  Tensor operator()(const Tensor& x, const std::optional<Tensor>& sizes_E) const;

 private:
  // State that calls take and return, in the order of their values.
  struct StateOfCalls {
    std::vector<std::string> gradients;      // StateUpdate::kGradient, taken
    std::vector<std::string> others;         // returned behind y
    std::set<std::string, std::less<>> set;  // by a traced call
  };
  StateOfCalls state_of_calls() const;
  // Returns the projection as a function of one call's values: x, its number, its part of each
  // gradient, then its parameters.
  TensorFunction one_call(StateOfCalls& state) const;

  Handle<Projection> one_;
  int64_t num_experts_;
};

}  // namespace axle
