// What a step computes and keeps under each remat policy: products, stacked residuals, barriers.
#include <gmock/gmock.h>

#include "ir/text/text_form.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/products/products.h"
#include "ops/reductions/reductions.h"
#include "testing/gradient_check.h"
#include "transform/call.h"
#include "transform/control_flow/control_flow.h"
#include "transform/control_flow/loop_ops.h"
#include "transform/remat/remat.h"
#include "transform/simplify.h"

namespace axle {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kRows = 3, kDim = 4, kLayers = 5, kGroups = 2;
const Type kInput{DType::kF32, {kRows, kDim}}, kWeights{DType::kF32, {kLayers, kDim, kDim}};

// x + o(tanh(q) * sin(q)): two products.
Values structure_layer(const Values& v) {
  const Tensor q = name(dot(v[0], v[1]), "q_proj");
  return {v[0] + dot(tanh(q) * sin(q), v[2])};
}

using Wrap = std::function<Values(const TensorFunction&, const Values&)>;
Values plain(const TensorFunction& fn, const Values& v) { return fn(v); }
Wrap remats(const RematPolicy& policy, bool prevent_cse = false) {
  return
      [=](const TensorFunction& fn, const Values& v) { return remat(fn, v, policy, prevent_cse); };
}

// A loop over layers with stacked weights, each layer wrapped.
TensorFunction structure_layers(const Wrap& wrap) {
  return [wrap](const Values& v) {
    const ScanBody body = [&](const Values& carry, const Values& weights) -> ScanResult {
      return {wrap(structure_layer, {carry[0], weights[0], weights[1]}), {}};
    };
    return scan(body, {v[0]}, {v[1], v[2]}, v[1].dim(0)).carry;
  };
}

TensorFunction structure_gradient(const TensorFunction& fn) {
  return [fn](const Values& x) {
    auto [loss, gradients] =
        value_and_grad([&](const Values& v) { return Values{sum(sin(fn(v)[0]))}; }, x);
    gradients.push_back(loss[0]);
    return gradients;
  };
}

std::shared_ptr<Region> step_of(const TensorFunction& fn, const Type& weights = kWeights) {
  return simplify(*trace(structure_gradient(fn), {kInput, weights, weights}));
}

// One loop of a program.
struct Loop {
  int64_t dots, stacked, transcendentals;
  bool operator==(const Loop&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Loop& l) {
  return out << l.dots << " dots, " << l.stacked << " stacked, " << l.transcendentals
             << " transcendentals";
}

std::vector<const OpNode*> scans_of(const Region& region) {
  std::vector<const OpNode*> out;
  for (const OpNode* op : region.ops()) {
    if (op->rules->name() == "scan") out.push_back(op);
  }
  return out;
}

// Describes the loops of a region, without those inside of others.
std::vector<Loop> loops(const Region& region) {
  std::vector<Loop> out;
  for (const OpNode* op : scans_of(region)) {
    const auto count = [&](const char* name) { return count_ops(op->region(), name); };
    const size_t carries = op->attrs<ScanAttributes>().num_carries;
    out.push_back({count("dot_general"), static_cast<int64_t>(op->outputs.size() - carries),
                   count("tanh") + count("sin") + count("cos")});
  }
  return out;
}

std::vector<Loop> loops_of(const TensorFunction& fn) { return loops(*step_of(fn)); }

// The backward loop stacks the cotangents of both weights.
constexpr int64_t kGradients = 2;

TEST(RematStructure, EverythingReadAgainIsStackedWithoutRemat) {
  // Layer input, q, tanh, sin and their product.
  EXPECT_THAT(loops_of(structure_layers(plain)),
              ElementsAre(Loop{2, 5, 2}, Loop{4, kGradients, 1}));
}

TEST(RematStructure, SavingNothingStacksTheCarryAndRecomputesTheFirstProduct) {
  EXPECT_THAT(loops_of(structure_layers(remats(save_nothing()))),
              ElementsAre(Loop{2, 1, 2}, Loop{5, kGradients, 3}));
}

TEST(RematStructure, SavedNamesAndProductsAreStackedAndNotRecomputed) {
  for (const RematPolicy& policy : {save_names({"q_proj"}), save_matching({"q_.*"}), save_dots(),
                                    combine({save_nothing(), save_dots()})}) {
    SCOPED_TRACE(policy.text);
    EXPECT_THAT(loops_of(structure_layers(remats(policy))),
                ElementsAre(Loop{2, 2, 2}, Loop{4, kGradients, 3}));
  }
}

TEST(RematStructure, OffloadedValuesAreStackedOnTheHost) {
  for (const RematPolicy& policy : {offload_dots(), save_matching({}, {"q_proj"})}) {
    SCOPED_TRACE(policy.text);
    const auto step = step_of(structure_layers(remats(policy)));
    EXPECT_THAT(loops(*step), ElementsAre(Loop{2, 2, 2}, Loop{4, kGradients, 3}));
    // One goes to the host in the forward loop, and comes back in the backward one.
    for (const OpNode* op : scans_of(*step)) EXPECT_EQ(count_ops(op->region(), "place"), 1);
  }
}

TEST(RematStructure, SavingEverythingIsLikeNoRemat) {
  EXPECT_THAT(loops_of(structure_layers(remats(save_everything()))),
              ElementsAre(Loop{2, 5, 2}, Loop{4, kGradients, 1}));
}

TEST(RematStructure, RematAroundTheLoopComputesItAgain) {
  const TensorFunction inner = structure_layers(remats(save_names({"q_proj"})));
  const auto step = step_of([&](const Values& v) { return remat(inner, v, save_nothing()); });
  EXPECT_THAT(loops(*step), ElementsAre(Loop{2, 0, 2}, Loop{2, 2, 2}, Loop{4, kGradients, 3}));
  EXPECT_EQ(count_ops(*step, "optimization_barrier"), 1);
}

// As in a pipeline: groups of layers.
TensorFunction groups(const RematPolicy& outer, const RematPolicy& inner) {
  return [=](const Values& v) {
    const ScanBody body = [&](const Values& carry, const Values& weights) -> ScanResult {
      return {
          remat(structure_layers(remats(inner)), {carry[0], weights[0], weights[1]}, outer, false),
          {}};
    };
    return scan(body, {v[0]}, {v[1], v[2]}, kGroups).carry;
  };
}
const Type kGrouped{DType::kF32, {kGroups, kLayers, kDim, kDim}};

TEST(RematStructure, LoopsInRematInLoops) {
  const auto step = step_of(groups(save_nothing(), save_names({"q_proj"})), kGrouped);
  const auto outer = scans_of(*step);
  ASSERT_EQ(outer.size(), 2u);
  EXPECT_EQ(loops(*step)[0].stacked, 1);  // the carry between groups
  EXPECT_THAT(loops(outer[0]->region()), ElementsAre(Loop{2, 0, 2}));
  EXPECT_THAT(loops(outer[1]->region()), ElementsAre(Loop{2, 2, 2}, Loop{4, kGradients, 3}));
}

// What an outer remat saves, wherever it is computed.
TEST(RematStructure, OuterPoliciesReachIntoLoops) {
  for (const Wrap& inner : {Wrap(plain), remats(save_nothing())}) {
    const bool has_remat = !(inner.target_type() == Wrap(plain).target_type());
    SCOPED_TRACE(has_remat);
    const auto with = [&](const RematPolicy& policy) {
      return loops_of([&](const Values& v) { return remat(structure_layers(inner), v, policy); });
    };
    // The forward loop stacks q. The second loop makes the other residuals from it.
    const std::vector<Loop> saved = with(save_names({"q_proj"}));
    ASSERT_EQ(saved.size(), 3u);
    EXPECT_EQ(saved[0], (Loop{2, 1, 2}));
    EXPECT_EQ(saved[1].dots, 1);  // the layer's second product, for the next layer's input
    EXPECT_EQ(saved[2].dots, 4);
    const std::vector<Loop> nothing = with(save_nothing());
    EXPECT_EQ(nothing[0], (Loop{2, 0, 2}));
    EXPECT_EQ(nothing[1].dots, 2);
  }
}

TEST(RematStructure, OuterPoliciesReachThroughLoopsOfLoops) {
  const auto fn = [](const RematPolicy& policy) -> TensorFunction {
    return [policy](const Values& v) {
      return remat(groups(save_nothing(), save_nothing()), v, policy);
    };
  };
  const auto saved = step_of(fn(save_names({"q_proj"})), kGrouped);
  const auto outer = scans_of(*saved);
  ASSERT_EQ(outer.size(), 3u);
  EXPECT_EQ(loops(*saved)[0].stacked, 1);  // q of all layers of all groups
  EXPECT_EQ(outer[0]->outputs.back(), (Type{DType::kF32, {kGroups, kLayers, kRows, kDim}}));
  EXPECT_EQ(count_ops(outer[1]->region(), "dot_general"), 1);
}

TEST(RematStructure, OuterPoliciesReachIntoCallsRematsAndBranches) {
  const auto one = [](const Wrap& inner) -> TensorFunction {
    return [inner](const Values& v) {
      const auto slice_of = [](const Tensor& w) { return reduce_sum(w, {0}); };
      return inner(structure_layer, {v[0], slice_of(v[1]), slice_of(v[2])});
    };
  };
  const Wrap calls = [](const TensorFunction& fn, const Values& v) { return call("f", fn, v); };
  const Wrap branches = [](const TensorFunction& fn, const Values& v) {
    const TensorFunction other = [&](const Values& x) { return Values{cos(fn(x)[0])}; };
    return cond(sum(v[0]) > 0.0, fn, other, v);
  };
  const Wrap remats_nothing = remats(save_nothing(), true);
  for (const auto& [inner, num_branches] :
       {std::pair(calls, 1), std::pair(remats_nothing, 1), std::pair(branches, 2)}) {
    const auto dots = [&, &inner = inner](const RematPolicy& policy) {
      return count_ops(*step_of([&](const Values& v) { return remat(one(inner), v, policy); }),
                       "dot_general");
    };
    // Two products forward and four backward. q is recomputed once, unless it is saved. The branch
    // with the cosine recomputes its second product too.
    const int64_t others = num_branches == 2 ? 1 : 0;
    EXPECT_EQ(dots(save_names({"q_proj"})), 6 * num_branches + others);
    EXPECT_EQ(dots(save_nothing()), 7 * num_branches + others);
  }
}

TEST(RematStructure, GradientsDoNotDependOnPoliciesToTheLastBit) {
  std::vector<HostTensor> x = {testing::normal_values({kRows, kDim}, 0)};
  for (uint64_t i = 1; i < 3; ++i)
    x.push_back(testing::normal_values({kGroups, kLayers, kDim, kDim}, i));
  const auto expected = eval(structure_gradient(groups(save_everything(), save_everything())), x);
  for (const RematPolicy& outer : {save_nothing(), save_names({"q_proj"}), save_dots(),
                                   offload_dots(), save_matching({}, {"q_proj"})}) {
    SCOPED_TRACE(outer.text);
    for (const RematPolicy& inner : {save_nothing(), save_names({"q_proj"}), offload_dots()}) {
      EXPECT_EQ(eval(structure_gradient(groups(outer, inner)), x), expected) << inner.text;
      const TensorFunction around = [&](const Values& v) {
        return remat(groups(save_nothing(), inner), v, outer);
      };
      EXPECT_EQ(eval(structure_gradient(around), x), expected) << inner.text;
    }
  }
}

TEST(RematStructure, WeightsAreNeverStackedOnceMore) {
  // The layers read their weights as bf16: the cast is made again in the backward loop.
  const Wrap narrow = [](const TensorFunction& fn, const Values& v) {
    return fn({v[0], astype(astype(v[1], DType::kBF16), DType::kF32),
               astype(astype(v[2], DType::kBF16), DType::kF32)});
  };
  for (const Wrap& wrap : {Wrap(plain), remats(save_nothing()), remats(save_dots()), narrow}) {
    const auto step = step_of(structure_layers(wrap));
    const OpNode* const forward = scans_of(*step)[0];
    for (size_t i = forward->attrs<ScanAttributes>().num_carries; i < forward->outputs.size(); ++i)
      EXPECT_EQ(forward->outputs[i].dims, (Shape{kLayers, kRows, kDim}));
    const OpNode* const backward = scans_of(*step)[1];
    for (const Tensor& weights : {step->parameters()[1], step->parameters()[2]})
      EXPECT_TRUE(
          std::ranges::any_of(backward->inputs, [&](const Tensor& t) { return same(t, weights); }));
  }
}

// Returns the only barrier of a region.
const OpNode& barrier_of(const Region& region) {
  const OpNode* found = nullptr;
  for (const OpNode* op : region.ops()) {
    if (op->rules->name() == "optimization_barrier") found = op;
  }
  return *found;
}

TEST(RematStructure, BarriersHoldInputsResidualsAndCotangents) {
  const Type square{DType::kF32, {kDim, kDim}};
  for (const auto& [policy, num_saved] :
       {std::pair(save_nothing(), 0u), std::pair(save_dots(), 1u)}) {
    const auto step = simplify(*trace(structure_gradient([&, &policy = policy](const Values& v) {
                                        return remat(structure_layer, v, policy);
                                      }),
                                      {kInput, square, square}));
    ASSERT_EQ(count_ops(*step, "optimization_barrier"), 1);
    const OpNode& barrier = barrier_of(*step);
    EXPECT_EQ(barrier.inputs.size(), 3 + num_saved + 1);
    EXPECT_TRUE(std::ranges::any_of(barrier.inputs, [](const Tensor& t) {
      return !t.is_parameter() && t.node()->phase == Phase::kBackward;
    }));
    // The recomputation and the pullback read nothing but constants from before the barrier.
    for (const OpNode* op : step->ops()) {
      if (op->phase != Phase::kBackward || op->id <= barrier.id) continue;
      for (const Tensor& t : op->inputs)
        EXPECT_TRUE(t.node()->id >= barrier.id || splat_of(t)) << print(*step);
    }
  }
}

TEST(RematStructure, LoopsHaveNoBarriers) {
  EXPECT_EQ(count_ops(*step_of(structure_layers(remats(save_nothing()))), "optimization_barrier"),
            0);
  EXPECT_EQ(
      count_ops(*step_of(groups(save_nothing(), save_dots()), kGrouped), "optimization_barrier"),
      0);
}

}  // namespace
}  // namespace axle
