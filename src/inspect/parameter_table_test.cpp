#include "inspect/parameter_table.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "config/set.h"
#include "recipes/recipe.h"
#include "testing/peak_memory.h"

namespace axle {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

TEST(ParameterTable, SevenBillionParametersAreNotAllocated) {
  const int64_t before = peak_resident_bytes();  // ctest runs each test in a process of its own
  ASSERT_GT(before, 0);
  const ParameterTable table = parameter_table(recipe("fuji-7B-v2"));
  EXPECT_EQ(table.total_params, 6610489344);
  EXPECT_LT(peak_resident_bytes() - before, 100'000'000);
}

TEST(ParameterTable, JsonHasExactlyTheseKeys) {
  const Json json = to_json(parameter_table(recipe("fuji-7B-v2")));
  EXPECT_EQ(json.size(), 2u);
  EXPECT_EQ(json["total_params"], 6610489344);
  const Json& up = json["params"]["decoder/layers/layer/feed_forward/body/up/weight"];
  EXPECT_EQ(
      up.dump(),
      R"json({"shape":[32,4096,11008],"dtype":"float32","axes":[null,["expert","fsdp","seq"],"model"],"init":"normal(0, 1.0 / fan_in)","weight_decay_scale":null})json");
}

TEST(ParameterTable, WeightDecayOfTheOptimizersPatterns) {
  Trainer::Config config = recipe("quickstart");
  set(config, "learner.optimizer.weight_decay_scales", "{\"**.scale\": 0}");
  const Json json = to_json(parameter_table(config));
  EXPECT_EQ(json["params"]["decoder/output_norm/scale"]["weight_decay_scale"], 0);
  EXPECT_EQ(json["params"]["decoder/emb/weight"]["weight_decay_scale"], nullptr);
}

// What a layer says of its parameter stays, unless a pattern names it.
TEST(ParameterTable, PatternOverridesTheScaleOfALayer) {
  Trainer::Config config = recipe("mamba2-test");
  const auto factors = [&] {
    std::map<std::string, Json> out;
    const Json table = to_json(parameter_table(config));
    for (const auto& [path, row] : table["params"].items())
      out[path.substr(path.rfind('/') + 1)] = row["weight_decay_scale"];
    return out;
  };
  EXPECT_EQ(factors().at("decay"), 0);
  set(config, "learner.optimizer.weight_decay_scales", "{\"**.decay\": 1}");
  EXPECT_EQ(factors().at("decay"), 1);
  EXPECT_EQ(factors().at("skip"), 0);
}

TEST(ParameterTable, ScaleByPathIsNotWeightDecay) {
  Trainer::Config config = recipe("quickstart");
  set(config, "learner.update_transforms", "[{class: ScaleByPath, scales: {\"**.scale\": 0.5}}]");
  const Json json = to_json(parameter_table(config));
  EXPECT_EQ(json["params"]["decoder/output_norm/scale"]["weight_decay_scale"], nullptr);
}

TEST(ParameterTable, Text) {
  const std::string text = to_text(parameter_table(recipe("fuji-7B-v2")));
  EXPECT_THAT(text, HasSubstr("[None, [expert, fsdp, seq], model]"));
  EXPECT_THAT(text, HasSubstr("6,610,489,344 parameters"));
  // The last column is the factor of the weight decay.
  EXPECT_THAT(text, HasSubstr("weight decay\n"));
  EXPECT_THAT(text, ContainsRegex("decoder/output_norm/scale .* x1\n"));
  Trainer::Config config = recipe("fuji-7B-v2");
  set(config, "learner.optimizer.weight_decay_scales", "{\"**.scale\": 0.25}");
  const std::string scaled = to_text(parameter_table(config));
  EXPECT_THAT(scaled, ContainsRegex("decoder/output_norm/scale .* x0.25\n"));
  EXPECT_THAT(scaled, ContainsRegex("decoder/emb/weight .* x1\n"));
}

}  // namespace
}  // namespace axle
