// A run that is killed several times ends in the same state as an uninterrupted run.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <random>

#include "checkpoint/folder.h"
#include "data/text_input.h"
#include "io/event_reader_test.h"
#include "layers/models/causal_lm.h"
#include "pjrt/plugin/find_plugin.h"
#include "testing/temp_dir.h"
#include "train/process/train_process_test.h"
#include "train/record/summary_writer.h"
#include "train/run_result_test.h"
#include "train/tiny_config_test.h"

namespace axle {
namespace {

constexpr int kKills = 4;
constexpr int64_t kSteps = 30;
constexpr int64_t kStepsPerSave = 3;

// The inputs: synthetic rows, and text that is shuffled again in each of several epochs. The run
// reads batches ahead of its steps, but a checkpoint must save the position of its own step.
Child<Input> synthetic_rows(const std::filesystem::path&) { return tiny_config().input; }
Child<Input> text_rows(const std::filesystem::path& dir) {
  std::mt19937 random(5);
  std::string text;
  for (int document = 0; document < 40; ++document) {
    const int num_words = std::uniform_int_distribution<int>(1, 30)(random);
    for (int i = 0; i < num_words; ++i)
      text += static_cast<char>('a' + std::uniform_int_distribution<int>(0, 25)(random)) +
              std::string(i % 4 == 3 ? ".\n" : " ");
    text += "\n\n";
  }
  std::ofstream(dir / "corpus.txt") << text;
  return TextInput::Config{.source = TextSource::Config{.path = (dir / "corpus.txt").string(),
                                                        .unit = DocumentUnit::kParagraph},
                           .seq_len = 16,
                           .batch_size = 8};
}

// Expects the same steps and numbers in the curves of TensorBoard as in metrics.jsonl.
void expect_same_curves(const std::filesystem::path& dir, bool was_killed) {
  std::map<std::string, Curves> logged;
  for (const auto& record : metrics_of(dir)) {
    Curves& curves = logged[record.value("split", "train")];
    for (const auto& [name, value] : record.items()) {
      if (name != "step" && name != "split") curves[record.at("step")][name] = value.get<float>();
    }
  }
  for (const auto& [run, expected] : logged) {
    SCOPED_TRACE(run);
    Curves shown = curves_of(dir / "tensorboard" / run);
    for (const auto& [step, values] : expected) {
      const auto found = shown.extract(step);
      // A kill between the two records of an evaluation can leave only the record in the log.
      if (!found && was_killed && run != "train" && step < kSteps) continue;
      ASSERT_TRUE(found) << step;
      for (const auto& [name, value] : values) EXPECT_EQ(found.mapped().at(name), value) << name;
    }
    EXPECT_TRUE(shown.empty()) << "a step that is not in the log: " << shown.begin()->first;
  }
}

using MakeInput = Child<Input> (*)(const std::filesystem::path&);
class KillResume : public ::testing::TestWithParam<MakeInput> {};

TEST_P(KillResume, EndsBitwiseEqualToTheUninterruptedRun) {
  const unsigned seed = std::getenv("AXLE_KILL_SEED")
                            ? static_cast<unsigned>(std::atoi(std::getenv("AXLE_KILL_SEED")))
                            : std::random_device{}();
  std::printf("AXLE_KILL_SEED=%u\n", seed);
  SCOPED_TRACE(fmt::format("AXLE_KILL_SEED={}", seed));
  std::mt19937 random(seed);
  const std::string backend = find_plugin_file(plugin_policy("cpu")) ? "cpu" : "interpreter";
  const TempDir dir;
  Trainer::Config config = tiny_config();
  config.input = GetParam()(dir.path());
  config.model.get_if<CausalLM>()->decoder.get_if<Decoder>()->vocab_size = 259;  // bytes
  config.checkpointer.every_steps = kStepsPerSave;
  config.writers["tensorboard"] = TensorBoardWriter::Config{.every_steps = 1};

  TrainProcess whole(config, dir.path(), "whole", backend);
  ASSERT_EQ(whole.wait(), 0) << whole.output();

  // The run is held after every step, so that a kill comes at the chosen place: in the step or the
  // save after a gate, or at the next gate.
  Trainer::Config gated = config;
  Gate::Config gates;
  for (int64_t step = 1; step <= kSteps; ++step) gates.steps.push_back(step);
  gated.writers["gate"] = gates;
  int killed = 0, resumed = 0;
  for (int i = 0; i < kKills; ++i) {
    const std::vector<int64_t> saved = checkpoint_steps(dir.path() / "killed" / "checkpoints");
    const int64_t from = saved.empty() ? 0 : saved.back();
    if (from == kSteps) break;
    // Only the first kill may come before there is a checkpoint. A save begins only when the
    // previous one has ended, so a run that is one step past the second save has a checkpoint.
    const int64_t first = i > 0 && saved.empty() ? 2 * kStepsPerSave + 1 : from + 1;
    const int64_t last =
        std::uniform_int_distribution<int64_t>(first, std::min<int64_t>(from + 10, kSteps))(random);
    TrainProcess run(gated, dir.path(), "killed", backend);
    for (int64_t step = from + 1; step <= last; ++step) {
      ASSERT_TRUE(run.wait_at_gate(step)) << run.output();
      run.open_gate();
    }
    const bool at_next_gate = std::bernoulli_distribution()(random);
    if (at_next_gate && last < kSteps) {
      ASSERT_TRUE(run.wait_at_gate(last + 1)) << run.output();
    }
    run.signal(SIGKILL);
    const int end = run.wait();
    EXPECT_TRUE(end == -SIGKILL || (end == 0 && last == kSteps)) << end << run.output();
    killed += end == -SIGKILL;
    resumed += run.output().find("resumed from step") != std::string::npos;
  }
  EXPECT_GT(killed, 0);
  TrainProcess last(config, dir.path(), "killed", backend);
  ASSERT_EQ(last.wait(), 0) << last.output();
  EXPECT_GT(resumed + (last.output().find("resumed from step") != std::string::npos), 0);
  expect_no_holes(dir.path() / "killed", kSteps);
  expect_same_run(dir.path() / "killed", dir.path() / "whole");
  expect_same_curves(dir.path() / "killed", /*was_killed=*/true);
  expect_same_curves(dir.path() / "whole", /*was_killed=*/false);
}

INSTANTIATE_TEST_SUITE_P(Inputs, KillResume, ::testing::Values(synthetic_rows, text_rows),
                         [](const auto& input) {
                           return input.param == text_rows ? "Text" : "Synthetic";
                         });

}  // namespace
}  // namespace axle
