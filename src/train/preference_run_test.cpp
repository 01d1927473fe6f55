// Runs that learn from pairs of answers: what they say of held-out pairs and of texts.
#include <gmock/gmock.h>

#include "data/packing.h"
#include "layers/models/beside_frozen.h"
#include "train/program/initial_state.h"
#include "train/trainer_run_test.h"

namespace axle {
namespace {

// `num_pairs` pairs of answers of four tokens each, in batches of `batch_size` rows, once or
// without end.
class SomePairs final : public Input {
 public:
  struct Config {
    int64_t num_pairs = 3, batch_size = 2;
    bool endless = false;
    AXLE_CONFIG(SomePairs, num_pairs, batch_size, endless)
  };
  SomePairs(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {}
  Tree<Type> element_spec() const override {
    return batch_spec(cfg_.batch_size, 8, {.is_pair = true});
  }
  std::optional<Batch> next() override {
    if (!cfg_.endless && next_ >= cfg_.num_pairs) return std::nullopt;
    Batch batch = make_batch(cfg_.batch_size, 8, {.is_pair = true});
    for (int64_t i = 0; i < cfg_.batch_size && (cfg_.endless || next_ < cfg_.num_pairs); ++i) {
      const RowView row = row_of(batch, i);
      for (const int32_t segment : {1, 2}) {
        std::vector<int32_t> tokens;
        for (int32_t t = 0; t < 5; ++t)
          tokens.push_back(
              static_cast<int32_t>((next_ % cfg_.num_pairs + segment * 7 + t * t) % 32));
        fill_segment(row, static_cast<size_t>(segment - 1) * 4, tokens, segment);
      }
      mark_pair(row, true);
      count_targets(batch, row, std::vector<double>(32, 1));
      ++next_;
    }
    return batch;
  }
  std::string state() const override { return std::to_string(next_); }
  void restore(std::string_view state) override { next_ = std::stoll(std::string(state)); }
  InputFacts facts() const override { return {.endless = cfg_.endless}; }

 private:
  Config cfg_;
  int64_t next_ = 0;
};
AXLE_REGISTER(SomePairs)

using PreferenceRun = TrainerTest;

// The last batch of two has one pair: each pair counts once.
TEST_F(PreferenceRun, HeldOutPairsAreComparedAndATextIsNot) {
  Trainer::Config start = config_of(2);
  start.model = tiny_model(tiny_stack());
  ASSERT_EQ(train(start, "start").code, ExitCode::kOk);
  RunOptions options;
  options.init.submodels.emplace("reference", run("start"));
  Trainer::Config config = config_of(6);
  config.evalers["text"] = config.evalers.at("held_out");
  config.evalers["pairs"] = {.input = SomePairs::Config{}};
  config.evalers["at_once"] = {.input = SomePairs::Config{.batch_size = 3}};
  config.evalers.erase("held_out");
  config.input = SomePairs::Config{.num_pairs = 5, .endless = true};
  config.model = PreferenceLM::Config{.policy = tiny_model(tiny_stack()),
                                      .reference = tiny_model(tiny_stack())};
  const Ended ended = train(config, "run", std::move(options));
  ASSERT_EQ(ended.code, ExitCode::kOk) << ended.error;
  std::map<std::string, nlohmann::json> last;
  for (const auto& record : records_of(run())) {
    if (record.contains("split")) last[record["split"]] = record;
  }
  ASSERT_TRUE(last.contains("pairs") && last.contains("at_once") && last.contains("text"));
  for (const char* name :
       {"loss", "preference_loss", "preferred", "margin", "chosen_reward", "rejected_reward"}) {
    ASSERT_TRUE(last["pairs"].contains(name)) << name << " in " << last["pairs"];
    EXPECT_NEAR(last["pairs"][name].get<double>(), last["at_once"][name].get<double>(), 1e-5)
        << name;
    EXPECT_EQ(last["text"].contains(name), name == std::string("loss")) << name;
  }
  EXPECT_NE(last["pairs"]["margin"], 0);
  EXPECT_FALSE(last["pairs"].contains("bits_per_byte"));
  EXPECT_TRUE(last["text"].contains("accuracy"));
  EXPECT_THAT(ended.err + ended.out,
              ::testing::ContainsRegex("eval pairs at step 6: .*margin.*, 3 targets"));

  // A plain model begins with what was trained.
  const auto plain = Child<Model>(tiny_model(tiny_stack())).build({}, Scope{.path = "model"});
  ::testing::internal::CaptureStdout();
  Progress progress(1, 1);
  const auto trained = state_of(run()).tensors,
             begun = initial_values({.folder = run()}, *plain, 1, progress);
  EXPECT_THAT(::testing::internal::GetCapturedStdout(),
              ::testing::HasSubstr("starts with the parameters of "));
  EXPECT_EQ(begun.size(), plain->param_specs().size());
  int count = 0;
  for (const auto& [name, value] : trained) {
    const std::string part = "model/policy/";
    if (!name.starts_with(part)) continue;
    EXPECT_EQ(begun.at("model/" + name.substr(part.size())), value) << name;
    ++count;
  }
  EXPECT_GT(count, 0);

  RunOptions again;
  again.init.submodels.emplace("reference", run());
  EXPECT_THAT(train(config, "again", std::move(again)).error,
              ::testing::HasSubstr("got a model beside a frozen one; axle export "));
}

TEST_F(PreferenceRun, WhatTheReferenceReadsIsFrozenAndStarted) {
  Trainer::Config config = config_of(1);
  config.input = SomePairs::Config{.endless = true};
  config.evalers.clear();
  PreferenceLM::Config model{.policy = tiny_model(tiny_stack()),
                             .reference = tiny_model(tiny_stack()),
                             .own = {"**.scale"}};
  config.model = model;
  EXPECT_THAT(
      train(config).error,
      ::testing::HasSubstr("model.own: expected patterns of all parameters that are trained, "
                           "because a frozen model reads the others, got none of "));
  auto& learner = *config.learner.get_if<Learner>();
  learner.frozen = {"**"};
  learner.trained = {"**.scale"};
  EXPECT_THAT(train(config).error,
              ::testing::HasSubstr("expected the value with which the frozen model reads it, got "
                                   "none; give --init-from FOLDER, a trained model"));
  model.reference.get_if<CausalLM>()->decoder.get_if<Decoder>()->model_dim = 8;
  config.model = model;
  EXPECT_THAT(train(config).error,
              ::testing::HasSubstr("must have the parameters that it reads from the policy, got "));
}

}  // namespace
}  // namespace axle
