// Tests training of low-rank adapters.
#include <gmock/gmock.h>

#include "base/tree.h"
#include "modifiers/products/product_modifiers.h"
#include "testing/host_tensors.h"
#include "train/trainer_run_test.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

Trainer::Config dense_config() {
  Trainer::Config config = config_of(3);
  config.model = tiny_model(tiny_loop());
  config.evalers.clear();
  return config;
}
Trainer::Config adapted_config(int64_t steps, const Lora::Config& lora = {.rank = 2}) {
  Trainer::Config config = dense_config();
  config.max_steps = steps;
  apply_modifier(lora, "modify[0]", config);
  return config;
}

class LoraTraining : public TrainerTest {
 protected:
  RunOptions from(const std::string& name) const {
    RunOptions options;
    options.init.folder = run(name);
    return options;
  }
};

bool is_adapter(const std::string& path) { return path.find("/lora_") != std::string::npos; }

TEST_F(LoraTraining, OnlyAdaptersChangeAndHaveOptimizerState) {
  train(dense_config(), "dense");
  const Ended ended = train(adapted_config(3), "adapted", from("dense"));
  EXPECT_EQ(ended.error, "");
  // A loop stacks its layers, which have five products: qkv, output, gate, up and down.
  EXPECT_THAT(ended.out + ended.err, HasSubstr("after step 3; 10 parameters of adapters are new"));
  const Tree<HostTensor> dense = state_of(run("dense")).tensors,
                         adapted = state_of(run("adapted")).tensors;
  int adapters = 0;
  for (const auto& [path, value] : subtree(adapted, "model")) {
    if (is_adapter(path)) {
      ++adapters;
      EXPECT_GT(testing::largest_element(value), 0) << path;
    } else {
      EXPECT_EQ(value, dense.at("model/" + path)) << path;
    }
  }
  EXPECT_EQ(adapters, 10);
  int moments = 0;
  for (const auto& [path, value] : subtree(adapted, "learner/optimizer")) {
    if (path.find("model/") == std::string::npos) continue;
    EXPECT_TRUE(is_adapter(path)) << path;
    ++moments;
  }
  EXPECT_EQ(moments, 2 * adapters);
}

TEST_F(LoraTraining, StartsWithTheLossOfTheDenseModel) {
  train(dense_config(), "dense");
  Trainer::Config same = dense_config();
  same.max_steps = 1;
  train(same, "same", from("dense"));
  train(adapted_config(1), "adapted", from("dense"));
  const auto loss = [&](const std::string& name) -> double {
    return metrics_of(run(name)).at(0).at("loss");
  };
  EXPECT_EQ(loss("adapted"), loss("same"));
}

TEST_F(LoraTraining, GoesOnFromAdaptersAndTrainsWhatElseIsAsked) {
  train(adapted_config(2), "first");
  const Ended ended = train(adapted_config(1, {.rank = 2, .also_train = {"**.norm.scale"}}),
                            "second", from("first"));
  EXPECT_EQ(ended.error, "");
  EXPECT_THAT(ended.out + ended.err, ::testing::Not(HasSubstr("are new")));
  const Tree<HostTensor> first = state_of(run("first")).tensors,
                         second = state_of(run("second")).tensors;
  const std::string scale = "model/decoder/layers/layer/attention/norm/scale";
  EXPECT_NE(second.at(scale), first.at(scale));
  EXPECT_EQ(second.at("model/decoder/emb/weight"), first.at("model/decoder/emb/weight"));
  // Another rank fits no adapter of the first run.
  EXPECT_THAT(train(adapted_config(1, {.rank = 3}), "third", from("first")).error,
              HasSubstr("lora_down: expected f32[2, 16, 3], got f32[2, 16, 2]"));
}

}  // namespace
}  // namespace axle
