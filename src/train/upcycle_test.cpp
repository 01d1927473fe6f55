// Tests runs of mixtures of experts that start from dense models.
#include <gmock/gmock.h>

#include "base/tree.h"
#include "layers/experts/moe.h"
#include "train/trainer_run_test.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

// Returns a run of this length at a learning rate of 0, whose parameters stay as it starts.
Trainer::Config frozen(Trainer::Config config) {
  config.learner.get_if<Learner>()->optimizer.get_if<AdamW>()->learning_rate =
      ConstantRate{.value = 0};
  config.evalers.clear();
  config.max_steps = 1;
  return config;
}
Trainer::Config upcycle_dense_config() {
  Trainer::Config config = config_of(3);
  config.model = tiny_model(tiny_loop());
  config.evalers.clear();
  return config;
}
Trainer::Config experts_config() {
  Trainer::Config config = upcycle_dense_config();
  replace_config<FeedForward>(config, MoE::Config{.num_experts = 4});
  return config;
}

class Upcycling : public TrainerTest {
 protected:
  RunOptions from(const std::string& name) const {
    RunOptions options;
    options.init.folder = run(name);
    options.init.upcycle = true;
    return options;
  }
};

TEST_F(Upcycling, StartsAsTheDenseModel) {
  train(upcycle_dense_config(), "dense");
  RunOptions same;
  same.init.folder = run("dense");
  train(frozen(upcycle_dense_config()), "same", same);
  const Ended ended = train(frozen(experts_config()), "experts", from("dense"));
  EXPECT_EQ(ended.error, "");
  EXPECT_THAT(ended.out + ended.err,
              HasSubstr("starts with the parameters of " + run("dense").string() +
                        " after step 3; experts are copies of its feed-forward layers, and 1 "
                        "parameters are new"));
  const std::string up = "model/decoder/layers/layer/feed_forward/body/up/weight";
  const HostTensor one = state_of(run("dense")).tensors.at(up),
                   experts = state_of(run("experts")).tensors.at(up);
  ASSERT_EQ(experts.shape(), (Shape{2, 4, 16, 32}));
  for (int64_t layer : {0, 1}) {
    for (int64_t e = 0; e < 4; ++e) {
      for (int64_t i = 0; i < 16 * 32; ++i)
        ASSERT_EQ(experts.at((layer * 4 + e) * 16 * 32 + i), one.at(layer * 16 * 32 + i));
    }
  }
  // The router's weights of a token sum to 1, so that equal experts compute what one of them does.
  const auto loss = [&](const std::string& name, const char* metric) -> double {
    return metrics_of(run(name)).at(0).at(metric);
  };
  EXPECT_NEAR(loss("experts", "cross_entropy"), loss("same", "cross_entropy"), 1e-5);
}

TEST_F(Upcycling, NamesWhatDoesNotFit) {
  train(upcycle_dense_config(), "dense");
  Trainer::Config wider = experts_config();
  replace_config<MoE>(wider, MoE::Config{.num_experts = 4, .hidden_dim = FixedDim{33}});
  EXPECT_THAT(train(wider, "wider", from("dense")).error,
              HasSubstr("feed_forward/body/up/weight: expected f32[2, 4, 16, 33] or f32[2, 16, 33] "
                        "to start from, got f32[2, 16, 32]"));
  RunOptions nowhere;
  nowhere.init.upcycle = true;
  EXPECT_EQ(train(experts_config(), "none", nowhere).error,
            "--upcycle: expected --init-from with the folder of a dense model, got none");
  EXPECT_EQ(train(upcycle_dense_config(), "no_experts", from("dense")).error,
            "--upcycle: expected a model with experts in place of feed-forward layers of the dense "
            "one, got none; leave --upcycle out, or change the recipe");
}

}  // namespace
}  // namespace axle
