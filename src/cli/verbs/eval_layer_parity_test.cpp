// Runs eval-layer on another framework's numbers, through the verb and the files that a user would
// write: testdata/eval_layer/<case>.yaml and <...>.names, compared by --compare.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/run_test.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "testing/checkout.h"
#include "testing/temp_dir.h"
#include "testing/test_name.h"

namespace axle {
namespace {

const std::string kFiles = source_file("testdata/eval_layer/").string();
const std::string kNumbers = reference_file("axlearn/numeric/");

struct Case {
  std::string fixture;
  std::vector<std::string> flags = {};
  /// File in testdata/eval_layer; empty: the fixture uses our names.
  std::string names = {};
  /// File of the layer; empty: it has the name of the fixture.
  std::string layer = {};
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.fixture; }

Arguments command(const Case& c) {
  Arguments out = {"eval-layer", kFiles + (c.layer.empty() ? c.fixture : c.layer) + ".yaml",
                   "--backend", "interpreter", "--json"};
  if (!c.names.empty()) out = joined(out, {"--rename", kFiles + c.names + ".names"});
  return joined(out, c.flags);
}

// Returns the number of tensors compared. Fails the test if one of them differs.
size_t expect_agreement(Arguments arguments) {
  const Ran ran = run_axle(std::move(arguments));
  EXPECT_EQ(ran.code, 0) << ran.err << ran.out;
  const auto json = nlohmann::json::parse(ran.out, nullptr, false);
  if (ran.code != 0 || !json.is_object()) return 0;
  for (const auto& tensor : json["tensors"]) EXPECT_EQ(tensor["verdict"], "ok") << tensor;
  return json["tensors"].size();
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  return test_name(info.param.fixture);
}

class LayersByFiles : public ::testing::TestWithParam<Case> {};

TEST_P(LayersByFiles, AgreeWithTheFixture) {
  const std::string numbers = kNumbers + GetParam().fixture + ".safetensors";
  // The reference holds the result, and the gradient of every parameter and floating-point input.
  const SafetensorsFile file(numbers);
  size_t expected = 1;
  for (const std::string& name : file.names()) expected += name.starts_with("grad/");
  EXPECT_GE(expect_agreement(joined(command(GetParam()), {"--grad", "--params", numbers, "--inputs",
                                                          numbers, "--compare", numbers})),
            expected);
}

INSTANTIATE_TEST_SUITE_P(
    Fixtures, LayersByFiles,
    ::testing::Values(
        Case{"layers/linear", {"--seed", "0"}}, Case{"layers/rms_norm", {"--seed", "0"}},
        Case{"layers/layer_norm", {"--seed", "0"}},
        Case{"layers/dropout", {"--key", "2", "--training"}},
        Case{"layers/embedding_attend", {"--method", "attend", "--seed", "0"}},
        Case{"attention/mha_causal", {"--seed", "0"}, "attention"},
        Case{"attention/gqa_causal", {"--seed", "0"}, "attention"},
        Case{"attention/mha_logit_cap", {"--seed", "0"}, "attention"},
        Case{"attention/qk_norm", {"--seed", "0"}, "attention"},
        Case{"attention/sliding_window", {"--seed", "0"}, "attention"},
        Case{"attention/sigmoid", {"--seed", "0"}, "attention"},
        Case{"attention/cross", {"--seed", "0"}, "attention"},
        Case{"blocks/ffn_gelu_post", {}, "blocks"}, Case{"blocks/ffn_relu2", {}, "blocks"},
        Case{"blocks/ffn_swiglu", {}, "blocks"}, Case{"blocks/transformer_layer", {}, "blocks"},
        Case{"blocks/repeated_3", {}, "blocks"},
        Case{"moe/top2", {"--training", "--key", "2"}, "moe"},
        Case{"moe/topk4", {"--training", "--key", "2"}, "moe"},
        Case{"lm/lm_tied", {"--training", "--tolerance", "2e-5"}, "lm"},
        Case{"lm/lm_packed", {"--training", "--tolerance", "2e-5"}, "lm"},
        Case{"lm/lm_zloss_untied", {"--training", "--tolerance", "2e-5"}, "lm"},
        Case{"lm/lm_tied_logits",
             {"--method", "logits", "--tolerance", "2e-5"},
             "lm_logits",
             "lm/lm_tied"},
        Case{"lm/lm_zloss_untied_logits",
             {"--method", "logits", "--tolerance", "2e-5"},
             "lm_logits",
             "lm/lm_zloss_untied"}),
    case_name);

// Numbers that testdata/reference/axlearn/make_dense.py computes.
std::vector<Case> dense_cases() {
  std::vector<Case> out;
  const std::vector<std::string> init = {"--seed", "0"};
  for (const char* name :
       {"conv1d_same", "conv2d", "conv1d_causal", "conv1d_explicit", "conv1d_per_group",
        "conv2d_causal", "conv2d_same_even", "group_norm", "group_norm_rms", "group_norm_segments",
        "group_norm_rms_segments", "rms_norm_zero_centred", "unit_norm_linear", "multi_linear",
        "batch_norm"})
    out.push_back({std::string("layers/") + name, init, "layers"});
  out.push_back({"layers/l2_norm", {}, "layers"});
  out.push_back({"layers/batch_norm_training", {"--training", "--seed", "0"}, "layers"});
  out.push_back({"layers/moving_average", {"--training"}, "layers"});
  for (const char* name : {"stochastic_depth_row", "stochastic_depth_batch", "drop_token"})
    out.push_back({std::string("layers/") + name, {"--training", "--key", "2"}, "layers"});
  for (const char* name : {"lstm", "lstm_norm", "lstm_unprojected", "stacked", "repeated"})
    out.push_back({std::string("rnn/") + name, init, "rnn"});
  return out;
}
INSTANTIATE_TEST_SUITE_P(Dense, LayersByFiles, ::testing::ValuesIn(dense_cases()), case_name);

class OptimizersByFiles : public ::testing::TestWithParam<Case> {};

TEST_P(OptimizersByFiles, AgreeAfterEachRecordedUpdate) {
  const std::string numbers = kNumbers + GetParam().fixture + ".safetensors";
  EXPECT_EQ(expect_agreement(joined(command(GetParam()), {"--inputs", numbers, "--compare", numbers,
                                                          "--tolerance", "1e-6"})),
            12u);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, OptimizersByFiles,
                         ::testing::Values(Case{"optimizers/adafactor"}, Case{"optimizers/adamw"},
                                           Case{"optimizers/adamw_decoupled"},
                                           Case{"optimizers/sgd_momentum"}),
                         case_name);

class SchedulesByFiles : public ::testing::TestWithParam<Case> {};

TEST_P(SchedulesByFiles, AgreeAtEveryStep) {
  const std::string name = GetParam().fixture.substr(GetParam().fixture.find('/') + 1);
  const auto all = nlohmann::json::parse(read_file(kNumbers + "schedules/schedules.json"));
  const auto values = all.at(name).get<std::vector<double>>();
  const TempDir dir;
  save_safetensors(dir / "reference.safetensors",
                   {{"out", HostTensor({std::ssize(values)}, std::span<const double>(values))}});
  EXPECT_EQ(expect_agreement(joined(command(GetParam()),
                                    {"--steps", std::to_string(values.size()), "--compare",
                                     dir / "reference.safetensors", "--tolerance", "1e-6"})),
            1u);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, SchedulesByFiles,
                         ::testing::Values(Case{"schedules/cosine_warmup_10_50_alpha0.1"},
                                           Case{"schedules/constant_with_warmup"},
                                           Case{"schedules/polynomial"},
                                           Case{"schedules/exponential"}),
                         case_name);

TEST(TrainingByFiles, AgreesAtAllFiftySteps) {
  const Case trajectory{
      "train/train_tied_gqa",
      {"--tolerance", "1e-5", "--tolerance", "grad_norm=1e-3", "--tolerance", "final/**=1e-3"},
      "lm"};
  const std::string numbers = kNumbers + trajectory.fixture + ".safetensors";
  // The loss, two norms and nine weights.
  EXPECT_EQ(
      expect_agreement(joined(command(trajectory), {"--inputs", numbers, "--compare", numbers})),
      12u);
}

}  // namespace
}  // namespace axle
