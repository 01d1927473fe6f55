#include "layers/blocks/stack.h"
#include "layers/experts/dispatch.h"
#include "layers/experts/moe.h"
#include "testing/test_layer.h"

namespace axle {
namespace {

using testing::build_for_test;

const FeedForward::Config kDense{.hidden_dim = FixedDim{6}, .gate = Linear::Config{.bias = false}};

// As many layers as experts: shapes alone do not show which dim counts the experts.
Repeat::Config loop_of(Child<Mixer> body) {
  return {.num_layers = 3, .layer = PreNorm::Config{.body = std::move(body)}};
}
MoE::Config experts(Child<Dispatch> dispatch = SortedDispatch::Config{}) {
  return {.num_experts = 3,
          .dispatch = std::move(dispatch),
          .hidden_dim = FixedDim{6},
          .gate = Linear::Config{.bias = false}};
}

TEST(Upcycled, ComputesWhatTheDenseModelComputes) {
  auto dense = build_for_test<Repeat>(loop_of(kDense), {.model_dim = 4});
  const HostTensor x = testing::normal_values({2, 5, 4}, 3);
  const CapacityDispatch::Config enough{.eval_capacity_factor = 3.0};
  for (const Child<Dispatch>& dispatch :
       {Child<Dispatch>(SortedDispatch::Config{}), Child<Dispatch>(enough)}) {
    auto moe = build_for_test<Repeat>(loop_of(experts(dispatch)), {.model_dim = 4});
    moe.set_all(upcycled(dense.parameters(), moe.layer().param_specs(), 1));
    EXPECT_ALLCLOSE(moe.run(x), dense.run(x), 1e-5);
  }
}

TEST(Upcycled, SeedDrawsOnlyTheRouters) {
  auto dense = build_for_test<Repeat>(loop_of(kDense), {.model_dim = 4});
  auto moe = build_for_test<Repeat>(loop_of(experts()), {.model_dim = 4});
  const auto specs = moe.layer().param_specs();
  const auto a = upcycled(dense.parameters(), specs, 1), b = upcycled(dense.parameters(), specs, 2);
  int differ = 0;
  for (const auto& [path, spec] : specs) {
    EXPECT_EQ(a.at(path).type(), spec.type());
    if (a.at(path) == b.at(path)) continue;
    ++differ;
    EXPECT_EQ(path, "repeat/layer/body/router/weight");
  }
  EXPECT_EQ(differ, 1);
}

TEST(Upcycled, NamesAllParametersThatDoNotFit) {
  auto wide = build_for_test<FeedForward>({.hidden_dim = FixedDim{7}}, {.model_dim = 4});
  Tree<HostTensor> dense;
  for (const auto& [path, value] : wide.parameters())
    dense.emplace("mo_e" + path.substr(path.find('/')), value);
  dense.emplace("mo_e/extra", HostTensor::ones({2}));
  MoE::Config cfg = experts();
  cfg.gate = std::nullopt;
  auto moe = build_for_test<MoE>(cfg, {.model_dim = 4});
  EXPECT_ERROR(upcycled(dense, moe.layer().param_specs(), 1),
               "mo_e/down/weight: expected f32[3, 6, 4] or f32[6, 4] to start from, got f32[7, 4]\n"
               "mo_e/up/weight: expected f32[3, 4, 6] or f32[4, 6] to start from, got f32[4, 7]\n"
               "mo_e/extra: expected a parameter of the model, got one that it lacks");
}

}  // namespace
}  // namespace axle
