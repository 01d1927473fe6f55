// A run's needs of host memory, compared with the memory that the host reports.
#include <regex>

#include "config/set.h"
#include "data/text_input.h"
#include "layers/models/causal_lm.h"
#include "train/config/run_modules.h"
#include "train/run_memory.h"
#include "train/trainer_run_test.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::pair<std::string, std::string>> proposed(const std::string& refusal);

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
  // Does what the first refusal proposes, and what the next does, which knows the compiled program.
  Ended follow(int64_t available_bytes, Trainer::Config config) {
    constexpr int kRefusals = 2;
    Ended ended;
    for (int i = 0; i <= kRefusals; ++i) {
      ended = train_with(available_bytes, "followed", config);
      if (ended.code != ExitCode::kDoesNotFit) break;
      for (const auto& [field, value] : proposed(ended.error)) set(config, field, value);
    }
    std::filesystem::remove_all(run("followed"));
    return ended;
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

TEST_F(TrainerMemory, AStateThatDoesNotFitReadsNothing) {
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

// The bytes that the part of this name takes, as the refusal says: "a part 1.5 MiB".
double bytes_in(const std::string& refusal, const std::string& part) {
  std::smatch found;
  if (!std::regex_search(refusal, found, std::regex(part + R"( ([0-9.]+) (B|KiB|MiB))"))) return -1;
  const double unit = found[2] == "B" ? 1 : found[2] == "KiB" ? 1024 : 1024 * 1024;
  return unit * std::stod(found[1]);
}

// The settings that the refusal proposes: "--set learner.device_rows=4".
std::vector<std::pair<std::string, std::string>> proposed(const std::string& refusal) {
  static const std::regex kSetting(R"(--set (\S+)=(\S+) )");
  std::vector<std::pair<std::string, std::string>> out;
  for (std::sregex_iterator at(refusal.begin(), refusal.end(), kSetting), end; at != end; ++at)
    out.emplace_back((*at)[1], (*at)[2]);
  return out;
}

TEST_F(TrainerMemory, AStepThatCannotFitIsToldBeforeItIsCompiled) {
  const Ended ended = train_with(state_needs() + 1, "run");
  EXPECT_EQ(ended.code, ExitCode::kDoesNotFit);
  EXPECT_THAT(ended.error, HasSubstr("(parameters "));
  EXPECT_THAT(ended.error, HasSubstr(", at least the temporaries of the step "));
  EXPECT_THAT(ended.error, HasSubstr("] of model.decoder.")) << "what takes the most";
  EXPECT_THAT(ended.error, Not(HasSubstr("weight"))) << "no parameter takes much";
  EXPECT_THAT(ended.error, HasSubstr(" available of 1.0 TiB; take a smaller model or batch"));
  EXPECT_THAT(ended.out, Not(HasSubstr("compil")));
}

// The estimate is a lower bound; the compiled step decides.
TEST_F(TrainerMemory, AStepThatDoesNotFitIsToldBeforeItIsTaken) {
  const int64_t state = state_needs();
  const double estimate =
      bytes_in(train_with(state + 1, "run").error, "at least the temporaries of the step");
  const auto most = state + static_cast<int64_t>(1.02 * estimate);
  const Ended ended = train_with(most, "run");
  EXPECT_EQ(ended.code, ExitCode::kDoesNotFit);
  EXPECT_THAT(ended.error, HasSubstr(", temporaries of the step "));
  EXPECT_GT(bytes_in(ended.error, ", temporaries of the step"), estimate);
  EXPECT_THAT(ended.out, HasSubstr("compiled the step"));
  EXPECT_THAT(ended.out, Not(HasSubstr("step 1/2")));
}

// Following what a refusal proposes makes the run fit, whether it came before or after compiling.
TEST_F(TrainerMemory, AChangeThatFitsIsProposed) {
  Trainer::Config config = config_of(2);
  set(config, "input.batch_size", "64");
  const int64_t state = state_needs();
  const double estimate =
      bytes_in(train_with(state + 1, "run", config).error, "at least the temporaries of the step");
  for (const double share : {1.02, 0.5}) {
    const auto most = state + static_cast<int64_t>(share * estimate);
    const std::string refusal = train_with(most, "run", config).error;
    const auto settings = proposed(refusal);
    ASSERT_EQ(settings.size(), 1u) << refusal;
    EXPECT_EQ(settings[0].first, "learner.device_rows");
    const Ended ended = follow(most, config);
    EXPECT_EQ(ended.code, ExitCode::kOk) << share << ": " << ended.error;
  }
}

TEST_F(TrainerMemory, TheNumberOfRowsThatFitIsFound) {
  const Trainer::Config config = config_of(2);
  const RunModules training(config);
  const ProgramSpec spec = training.program_spec({}, training.make_input()->element_spec());
  const auto rows_in = [&](int64_t bytes) {
    return RunMemory(config, spec, "cpu", {.total_bytes = bytes, .available_bytes = bytes})
        .rows_that_fit(1000);
  };
  EXPECT_EQ(rows_in(int64_t{1} << 40), 1000);
  const int64_t few = rows_in(int64_t{8} << 20), fewer = rows_in(int64_t{4} << 20);
  EXPECT_GT(few, fewer);
  EXPECT_GT(fewer, 0);
  EXPECT_LT(few, 1000);
  EXPECT_EQ(rows_in(1000), 0);
}

TEST_F(TrainerMemory, AnEvaluationThatTakesMoreThanTheStepIsRefused) {
  constexpr int64_t kOfTheStep = int64_t{2} << 20;
  Trainer::Config config = config_of(2);
  config.evalers["held_out"].input =
      SyntheticInput::Config{.seq_len = 16, .batch_size = 4096, .num_batches = 1};
  const Ended ended = train_with(state_needs() + kOfTheStep, "run", config);
  EXPECT_EQ(ended.code, ExitCode::kDoesNotFit);
  EXPECT_THAT(ended.error, HasSubstr(" temporaries of evalers.held_out "));
  const auto settings = proposed(ended.error);
  ASSERT_EQ(settings.size(), 1u) << ended.error;
  EXPECT_EQ(settings[0].first, "evalers.held_out.input.batch_size");
  EXPECT_EQ(follow(state_needs() + kOfTheStep, config).code, ExitCode::kOk);
}

// Rows beyond those that a device computes at once take no memory: fewer of them would not help.
TEST_F(TrainerMemory, AnEvaluationInPartsHasFewerRowsThanAPart) {
  constexpr int64_t kOfTheStep = int64_t{2} << 20;
  Trainer::Config config = config_of(2);
  config.evalers["held_out"].input =
      SyntheticInput::Config{.seq_len = 16, .batch_size = 8192, .num_batches = 1};
  set(config, "learner.device_rows", "2048");
  const Ended ended = train_with(state_needs() + kOfTheStep, "run", config);
  const auto settings = proposed(ended.error);
  ASSERT_EQ(settings.size(), 1u) << ended.error;
  EXPECT_EQ(settings[0].first, "evalers.held_out.input.batch_size");
  EXPECT_LE(std::stoll(settings[0].second), 1024);
  EXPECT_EQ(follow(state_needs() + kOfTheStep, config).code, ExitCode::kOk);
}

// Parts of a step are those of its evaluations, too.
TEST_F(TrainerMemory, AnEvaluationMayBeDividedAsTheStepIs) {
  Trainer::Config config = config_of(2);
  set(config, "input.batch_size", "1024");
  set(config, "evalers.held_out.input.batch_size", "1024");
  const int64_t most = state_needs() + (int64_t{2} << 20);
  const std::string error = train_with(most, "run", config).error;
  const auto settings = proposed(error);
  ASSERT_EQ(settings.size(), 1u) << error;
  EXPECT_EQ(settings[0].first, "learner.device_rows");
  EXPECT_EQ(follow(most, config).code, ExitCode::kOk);
}

// Where the step and an evaluation are too large, both are changed.
TEST_F(TrainerMemory, EveryProgramThatIsTooLargeIsChanged) {
  Trainer::Config config = config_of(2);
  set(config, "input.batch_size", "1024");
  set(config, "evalers.held_out.input.batch_size", "4096");
  set(config, "learner.microbatches", "2");  // which divides the step alone
  const int64_t most = state_needs() + (int64_t{2} << 20);
  const std::string error = train_with(most, "run", config).error;
  EXPECT_EQ(proposed(error).size(), 2u) << error;
  const Ended ended = follow(most, config);
  EXPECT_EQ(ended.code, ExitCode::kOk) << error << ended.error;
}

TEST_F(TrainerMemory, AStepThatFitsRuns) {
  const Ended ended = train_with(int64_t{1} << 39, "run");
  EXPECT_EQ(ended.code, ExitCode::kOk) << ended.error;
}

}  // namespace
}  // namespace axle
