// Compares mixtures of experts with numbers of AXLearn: initial parameters, results, gradients,
// losses and the chosen experts.
#include "layers/blocks/norm_placements.h"
#include "layers/experts/dispatch.h"
#include "layers/experts/linear_routers.h"
#include "layers/experts/moe.h"
#include "testing/axlearn_fixture.h"
#include "testing/test_name.h"

namespace axle {
namespace {

using testing::AxlearnFixture;

const RouterLosses kLosses{.load_balance = 0.01, .z = 0.001};
const CapacityDispatch::Config kCapacity{.train_capacity_factor = 2.0};

AxlearnFixture fixture(std::string file, int64_t num_experts, Child<Router> router,
                       Child<Dispatch> dispatch) {
  const MoE::Config moe{.num_experts = num_experts,
                        .router = std::move(router),
                        .dispatch = std::move(dispatch),
                        .hidden_dim = FixedDim{48},
                        .gate = Linear::Config{.bias = false}};
  return {
      .file = std::move(file),
      .build =
          [=] {
            return Child<Block>(PreNorm::Config{.norm = RMSNorm::Config{.eps = 1e-8f}, .body = moe})
                .build({.model_dim = 32}, Scope{});
          },
      .parameters = {{"gate_weight", "body/router/weight"},
                     {"wi_0_weight", "body/gate/weight"},
                     {"wi_1_weight", "body/up/weight"},
                     {"wo_weight", "body/down/weight"}},
      .inputs = {{"inputs", "x"}},
      .call = {.training = true},
      .key_paths = {{"gate_weight", "0"},
                    {"wo_weight", "1"},
                    {"wi_0_weight", "2"},
                    {"wi_1_weight", "3"},
                    {"norm/scale", "6.0"}}};
}

const std::vector<AxlearnFixture> kFixtures = {
    fixture("moe/top2", 4, Top2Router::Config{.losses = kLosses}, kCapacity),
    fixture("moe/topk4", 8, TopKRouter::Config{.top_k = 4, .losses = kLosses}, kCapacity),
};

class MoeParity : public ::testing::TestWithParam<AxlearnFixture> {};

TEST_P(MoeParity, AgreesWithTheFixture) { testing::expect_parity(GetParam()); }

TEST_P(MoeParity, LossesAgreeWithTheFixture) {
  const AxlearnFixture& fixture = GetParam();
  const SafetensorsFile file(reference_file("axlearn/numeric/" + fixture.file + ".safetensors"));
  const auto layer = fixture.build();
  const testing::LayerResult result = testing::call_layer(
      *layer, testing::section(file, "params/", fixture.parameters),
      testing::section(file, "in/", fixture.inputs), {.training = true, .seed = 2});
  double total = 0;
  for (const auto& [path, value] : result.aux_losses) total += value.at(0);
  EXPECT_EQ(result.aux_losses.size(), 2);
  EXPECT_NEAR(total, file.get("module_outputs/aux_loss").at(0), 1e-7);
}

std::string case_name(const ::testing::TestParamInfo<AxlearnFixture>& info) {
  return test_name(info.param.file);
}
INSTANTIATE_TEST_SUITE_P(Fixtures, MoeParity, ::testing::ValuesIn(kFixtures), case_name);

}  // namespace
}  // namespace axle
