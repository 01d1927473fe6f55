// A run's needs of host memory, compared with the memory that the host reports.
#include "data/text_input.h"
#include "layers/models/causal_lm.h"
#include "train/trainer_run_test.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class TrainerMemory : public TrainerTest {
 protected:
  // Trains on a host that reports this many available bytes.
  Ended train_with(int64_t available_bytes, const std::string& name,
                   const Trainer::Config& config = config_of(2)) {
    RunOptions options;
    options.host_memory = [=] {
      return HostMemory{.total_bytes = int64_t{1} << 40, .available_bytes = available_bytes};
    };
    return train(config, name, std::move(options));
  }
  // Returns the bytes of the state and of the copy that a save makes.
  int64_t state_needs() {
    train(config_of(2), "measured");
    int64_t bytes = 0;
    for (const auto& [path, value] : state_of(run("measured")).tensors)
      bytes += 2 * static_cast<int64_t>(value.type().num_bytes());
    return bytes;
  }
};

TEST_F(TrainerMemory, AStateThatDoesNotFitIsToldBeforeAnythingIsDone) {
  const Ended ended = train_with(state_needs() - 1, "run");
  EXPECT_EQ(ended.code, ExitCode::kDoesNotFit);
  EXPECT_THAT(ended.error, HasSubstr("host memory: expected "));
  EXPECT_THAT(ended.error, Not(HasSubstr("temporaries")));
  EXPECT_THAT(ended.out, Not(HasSubstr("compiled")));
}

TEST_F(TrainerMemory, NothingIsReadForAStateThatDoesNotFit) {
  Trainer::Config config = config_of(2);
  config.input = TextInput::Config{
      .source = TextSource::Config{.path = dir_ / "none"}, .seq_len = 16, .batch_size = 8};
  config.model.get_if<CausalLM>()->decoder.get_if<Decoder>()->vocab_size = 300;
  EXPECT_EQ(train_with(int64_t{1} << 39, "run", config).code, ExitCode::kData);
  const Ended ended = train_with(1000, "run", config);
  EXPECT_EQ(ended.code, ExitCode::kDoesNotFit);
  EXPECT_THAT(ended.error, HasSubstr("host memory: expected "));
  RunOptions many;
  many.num_devices = 1'000'000;
  EXPECT_EQ(train(config, "run", std::move(many)).code, ExitCode::kUser);
}

TEST_F(TrainerMemory, AStepThatDoesNotFitIsToldBeforeItIsTaken) {
  const Ended ended = train_with(state_needs() + 1, "run");
  EXPECT_EQ(ended.code, ExitCode::kDoesNotFit);
  EXPECT_THAT(ended.error, HasSubstr("(parameters "));
  EXPECT_THAT(ended.error, HasSubstr(", temporaries of the step "));
  EXPECT_THAT(ended.error, HasSubstr(" available of 1.0 TiB; take a smaller model or batch"));
  EXPECT_THAT(ended.out, HasSubstr("compiled the step"));
  EXPECT_THAT(ended.out, Not(HasSubstr("step 1/2")));
}

TEST_F(TrainerMemory, SoIsAnEvaluationThatTakesMoreThanTheStep) {
  constexpr int64_t kOfTheStep = int64_t{2} << 20;
  Trainer::Config config = config_of(2);
  config.evalers["held_out"].input =
      SyntheticInput::Config{.seq_len = 16, .batch_size = 4096, .num_batches = 1};
  const Ended ended = train_with(state_needs() + kOfTheStep, "run", config);
  EXPECT_EQ(ended.code, ExitCode::kDoesNotFit);
  EXPECT_THAT(ended.error, HasSubstr(", temporaries of evalers.held_out "));
  EXPECT_THAT(ended.out, Not(HasSubstr("step 1/2")));
  EXPECT_EQ(train_with(state_needs() + kOfTheStep, "with_a_smaller_batch").code, ExitCode::kOk);
}

TEST_F(TrainerMemory, WhatFitsRuns) {
  const Ended ended = train_with(int64_t{1} << 39, "run");
  EXPECT_EQ(ended.code, ExitCode::kOk) << ended.error;
}

}  // namespace
}  // namespace axle
