// Tests runs that start with the parameters of another folder.
#include <gmock/gmock.h>

#include "base/tree.h"
#include "checkpoint/restore.h"
#include "interop/hugging_face.h"
#include "layers/models/causal_lm.h"
#include "layers/products/quantized_product.h"
#include "modifiers/products/product_modifiers.h"
#include "testing/checkout.h"
#include "train/program/initial_state.h"
#include "train/record/progress.h"
#include "train/trainer_run_test.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class InitFrom : public TrainerTest {
 protected:
  // Runs `config` to its end, and returns the state that it saved last.
  Tree<HostTensor> state_after(Trainer::Config config, const std::string& name, int64_t steps,
                               const std::string& init_from = {}) {
    config.max_steps = steps;
    config.evalers.clear();
    RunOptions options;
    if (!init_from.empty()) options.init.folder = dir_ / init_from;
    ended_ = train(config, name, std::move(options));
    auto saved = restore_tensors(run(name) / "checkpoints");
    return saved ? std::move(saved->tensors) : Tree<HostTensor>();
  }
  Ended ended_;
};

Trainer::Config averaging_config() {
  Trainer::Config config = tiny_config();
  Learner::Config& learner = *config.learner.get_if<Learner>();
  learner.ema = ParamEma{};
  // A step that changes no parameter shows which parameters the run began with.
  learner.optimizer.get_if<AdamW>()->learning_rate = ConstantRate{.value = 0};
  return config;
}

TEST_F(InitFrom, ParametersAreThoseOfTheFolderAndAllElseIsNew) {
  const Tree<HostTensor> trained = state_after(tiny_config(), "first", 3);
  ASSERT_FALSE(trained.empty()) << ended_.error;
  const Tree<HostTensor> fresh = state_after(averaging_config(), "fresh", 1),
                         begun = state_after(averaging_config(), "second", 1, "first");
  EXPECT_THAT(ended_.out + ended_.err, HasSubstr("first after step 3"));
  ASSERT_EQ(begun.size(), fresh.size()) << ended_.error;
  int parameters = 0;
  for (const auto& [path, value] : begun) {
    const size_t at = path.find("model/");
    const bool parameter = at == 0 || path.starts_with("learner/ema/model/");
    if (!parameter) continue;
    EXPECT_EQ(value, trained.at(path.substr(at))) << path;
    ++parameters;
  }
  EXPECT_EQ(parameters, 2 * static_cast<int>(subtree(trained, "model").size()));
  for (const char* name : {"learner/count", "prng_key"})
    EXPECT_EQ(begun.at(name), fresh.at(name)) << name;

  // Repeating the same command resumes the second run from its own steps.
  state_after(averaging_config(), "second", 2, "first");
  EXPECT_EQ(ended_.error, "");
  EXPECT_THAT(ended_.out + ended_.err, HasSubstr("resumed from step 1; --init-from has no effect"));
}

TEST_F(InitFrom, AllOtherParametersAreNamedAtOnce) {
  state_after(tiny_config(), "first", 1);
  Trainer::Config wider = tiny_config();
  auto* const decoder = wider.model.get_if<CausalLM>()->decoder.get_if<Decoder>();
  decoder->vocab_size = 33;
  decoder->layers.get_if<Stacked>()->num_layers = 1;
  state_after(wider, "second", 1, "first");
  EXPECT_THAT(ended_.error,
              AllOf(HasSubstr("expected the parameters of the config's model in the checkpoint of "
                              "step 1, got others: "),
                    HasSubstr("model/decoder/emb/weight: expected f32[33, 16], got f32[32, 16]; "),
                    HasSubstr("model/decoder/layers/layer1/attention/norm/scale: expected none, "
                              "got f32[16]")));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "second"));
  state_after(tiny_config(), "second", 1, "nowhere");
  EXPECT_THAT(
      ended_.error,
      HasSubstr("nowhere: expected the folder of a run or of an import, a folder of Hugging Face "
                "or a GGUF file, got nothing there"));
  state_after(tiny_config(), "second", 1, "first/config.yaml");
  EXPECT_THAT(ended_.error,
              HasSubstr("config.yaml: expected the folder of a model, got a file in it; name " +
                        (dir_ / "first")));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "second"));
}

TEST_F(InitFrom, RoundedWeightsAreCounted) {
  const std::string folder = reference_file("hugging_face/llama");
  Child<Model> config = read_hugging_face(folder).model;
  const QuantizedProduct::Config product{.bits = CodeBits::kEight, .group = 8};
  apply_modifier(QuantizeProducts::Config{.with = product}, "modify[0]", config);
  const auto model = config.build({}, Scope{.path = "model"});
  const auto count = std::to_string(quantized_products(*model).size());
  ::testing::internal::CaptureStdout();
  Progress progress(1, 1);
  initial_values({.folder = folder}, *model, 1, progress);
  EXPECT_THAT(::testing::internal::GetCapturedStdout(),
              HasSubstr("; " + count + " weights became codes, " + count + " of them rounded\n"));
}

}  // namespace
}  // namespace axle
