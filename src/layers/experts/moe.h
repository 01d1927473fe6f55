// A mixture of experts: many feed-forward layers, of which each token runs a few.
//
// Source: Shazeer et al. 2017, arXiv 1701.06538; Lepikhin et al. 2020, arXiv 2006.16668;
//   shared experts: Dai et al. 2024, "DeepSeekMoE", arXiv 2401.06066, section 3.2.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "base/tree.h"
#include "ir/host_tensor.h"
#include "layers/dense/linear.h"
#include "layers/experts/dispatch.h"
#include "layers/experts/linear_routers.h"
#include "layers/experts/router.h"
#include "layers/feed_forward/feed_forward.h"
#include "layers/mixer.h"
#include "layers/width.h"
#include "nn/param.h"

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

/// x -> sum over the chosen experts of weight * expert(x), plus shared(x). Each expert is a
/// feed-forward layer: down(activation(gate(x)) * up(x)), without a gate down(activation(up(x))).
/// The fields of FeedForward have the same names and meanings here, so that
///   replace_config<FeedForward>(cfg, MoE::Config{.num_experts = 8})
/// keeps them, and parameters have the same paths with a dim in front that counts the experts.
///
/// Shapes: x_BTD f32|bf16 -> y_BTD, dtype of x. Routing runs in f32 for any dtype of x.
/// Parameters: up/weight[E, D, H], down/weight[E, H, D] and gate/weight[E, D, H] for Linear;
///   router/..., shared/....
/// Aux losses: the router's, with their weights: "load_balance", "z", ....
/// Remat names: FeedForward's, "experts" and "expert_weights".
/// Summaries: the router's; "dropped", the share of choices that no expert took, if the
///   dispatch may drop some.
/// Padding (real_tokens) uses no capacity of an expert, and its result is that of `shared`, else 0.
/// While decoding, no choice is dropped: a token gets what a call that drops nothing returns.
/// Throws ShapeError if the tokens of a call do not form the groups of the dispatch.
class MoE final : public Mixer {
 public:
  struct Config {
    /// Number of experts.
    Required<Positive<int64_t>> num_experts = REQUIRED;
    /// Chooses the experts of each token.
    Child<Router> router = TopKRouter::Config{};
    /// Brings the tokens to their experts.
    Child<Dispatch> dispatch = SortedDispatch::Config{};
    /// Width of the hidden layer of an expert, as a function of the model dim.
    DimFn hidden_dim = ScaledDim{.scale = 4};
    /// Activation of the gate, or of `up` if there is no gate.
    Activation activation = {"silu", &silu};
    /// Projects to the gate, which multiplies the result of `up`; none: no gate.
    std::optional<Child<Projection>> gate = {};
    /// Projects the model dim to the hidden dim, in each expert.
    Child<Projection> up = Linear::Config{.bias = false};
    /// Projects the hidden dim back to the model dim, in each expert.
    Child<Projection> down = Linear::Config{.bias = false};
    /// Experts that every token runs, as one mixer; none: no such experts.
    std::optional<Child<Mixer>> shared = {};
    /// Factor of the load-balance loss that follows how many choices are dropped; none: 1.
    std::optional<Child<AdaptiveLossScale>> adaptive_load_balance = {};
    AXLE_CONFIG(MoE, num_experts, router, dispatch, hidden_dim, activation, gate, up, down, shared,
                adaptive_load_balance)
  };
  MoE(const Config& cfg, const Dims& dims, const Scope& scope);
  bool can_decode() const override { return true; }
  Tree<ParamSpec> param_specs() const override;
  Tree<Tensor> initialize(const random::Key& key) const override;

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext& context) override;

 private:
  void check_groups(const Tensor& x_BTD) const;
  Tensor run_experts(const Tensor& x, const std::optional<Tensor>& sizes_E) const;
  Experts experts() const;
  void add_losses(const Routing& routing, const Dispatched& dispatched);

  int64_t num_experts_, hidden_dim_;
  Activation activation_;
  Handle<Dispatch> dispatch_;
  Handle<Router> router_;
  std::optional<ExpertProjections> gate_;
  ExpertProjections up_, down_;
  std::optional<Handle<Mixer>> shared_;
  std::optional<Handle<AdaptiveLossScale>> adaptive_;
};

// Sparse upcycling: a mixture of experts that starts from a dense model.
//
// Source: Komatsuzaki et al. 2022, "Sparse Upcycling", arXiv 2212.05055, section 3.1.

/// Makes the parameters of a mixture of experts, `specs`, from the parameters of a dense model. A
/// parameter with the path and type of a dense one gets its value. One with the path of a dense one
/// and a dim more, which the mesh axis `expert` alone shards, gets a copy for each expert.
/// Parameters whose path the dense model lacks, such as those of routers, are drawn from the seed.
///
/// Throws ConfigError with a line for each parameter whose type fits neither way, and for each
/// dense parameter that is not used.
Tree<HostTensor> upcycled(const Tree<HostTensor>& dense, const Tree<ParamSpec>& specs,
                          int64_t seed);

}  // namespace axle
