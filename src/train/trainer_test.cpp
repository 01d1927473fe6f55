// Whole training runs of a tiny model on the interpreter: their output, their resumption and what
// stops them.
#include "train/trainer.h"

#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>

#include "checkpoint/folder.h"
#include "io/event_file.h"
#include "testing/error_of.h"
#include "train/record/summary_writer.h"
#include "train/trainer_run_test.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(TrainerTest, WritesEveryStepAndEveryEvaluation) {
  Trainer::Config config = config_of(12);
  config.writers["tensorboard"] = TensorBoardWriter::Config{.every_steps = 5};
  const Ended ended = train(config);
  EXPECT_EQ(ended.code, ExitCode::kOk) << ended.error;
  expect_no_holes(run(), 12);
  std::vector<int64_t> evaluated;
  for (const auto& record : metrics_of(run())) {
    const bool eval = record.contains("split");
    if (eval) evaluated.push_back(record.at("step"));
    EXPECT_TRUE(record.contains("loss"));
    EXPECT_EQ(record.contains("grad_norm"), !eval);
    EXPECT_EQ(record.contains("learning_rate"), !eval);
    EXPECT_FALSE(record.contains("skipped"));
  }
  EXPECT_THAT(evaluated, ElementsAre(10, 12));
  EXPECT_THAT(read_file(run() / "metrics.jsonl"), HasSubstr("\"tokens_per_sec\":"));
  EXPECT_THAT(checkpoint_steps(run() / "checkpoints"), ElementsAre(4, 8, 12));
  EXPECT_THAT(ended.out, HasSubstr("step 12/12  loss "));
  EXPECT_THAT(ended.out, HasSubstr("eval held_out at step 10: loss "));

  const auto events = [&](const std::string& folder) {
    const auto files = list_directory(run() / "tensorboard" / folder);
    EXPECT_EQ(files.size(), 1u);
    const std::string bytes = read_file(files.at(0));
    TfRecordReader reader(bytes, folder);
    int with_loss = 0;
    while (const auto event = reader.next()) with_loss += event->find("loss") != event->npos;
    return with_loss;
  };
  // Steps 5 and 10, the last step, and the config as text, which names the loss.
  EXPECT_EQ(events("train"), 4);
  EXPECT_EQ(events("held_out"), 2);  // as listed above
}

TEST_F(TrainerTest, GoesOnAsIfNothingHadBeen) {
  train(config_of(12), "whole");
  train(config_of(6));
  EXPECT_EQ(state_of(run()).step, 6);
  const Ended ended = train(config_of(12));
  EXPECT_THAT(ended.out, HasSubstr("resumed from step 6\n"));
  // The evaluation at the end of the first part is the only additional record.
  auto records = metrics_of(run());
  std::erase_if(records, [](const auto& r) { return r.contains("split") && r.at("step") == 6; });
  EXPECT_EQ(records, metrics_of(run("whole")));
  EXPECT_EQ(state_of(run()).tensors, state_of(run("whole")).tensors);
}

TEST_F(TrainerTest, AFinishedRunChangesNothingWhenStartedAgain) {
  train(config_of(4), "run");
  const auto records = metrics_of(run());
  const auto state = state_of(run()).tensors;
  for (const int64_t steps : {4, 2}) {
    const Ended ended = train(config_of(steps));
    EXPECT_EQ(ended.code, ExitCode::kOk);
    EXPECT_THAT(ended.out,
                HasSubstr(fmt::format("the run is at step 4 of {}: nothing is left to do", steps)));
    EXPECT_THAT(ended.out, Not(HasSubstr("compiled")));
    EXPECT_EQ(metrics_of(run()), records);
    EXPECT_EQ(state_of(run()).tensors, state);
  }
}

// Makes a run of four steps look as if only its last evaluation were missing. Returns its records,
// including that evaluation.
std::vector<nlohmann::json> without_evaluation(const std::filesystem::path& run) {
  const auto records = metrics_of(run);
  EXPECT_EQ(records.back().value("split", ""), "held_out");
  std::string log = read_file(run / "metrics.jsonl");
  log.erase(log.rfind('\n', log.size() - 2) + 1);
  replace_file(run / "metrics.jsonl", log);
  return records;
}

// Returns all files below the folder, with their inodes and times of change.
std::vector<std::string> files_of(const std::filesystem::path& dir) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir)) {
    struct stat info;
    EXPECT_EQ(::stat(entry.path().c_str(), &info), 0) << entry.path();
    out.push_back(fmt::format("{} {} {}.{}", entry.path().string(), info.st_ino,
                              info.st_mtim.tv_sec, info.st_mtim.tv_nsec));
  }
  std::ranges::sort(out);
  return out;
}

TEST_F(TrainerTest, AFinishedRunDoesTheEvaluationsThatItOwes) {
  train(config_of(4));
  for (const bool restart_data : {false, true}) {
    const auto records = without_evaluation(run());
    const auto saved = files_of(run() / "checkpoints");
    const Ended ended = train(config_of(4), "run", {.dir = {}, .restart_data = restart_data});
    EXPECT_EQ(ended.code, ExitCode::kOk) << ended.error;
    EXPECT_THAT(ended.out, HasSubstr("the run is at step 4 of 4: only evaluations are left"));
    EXPECT_EQ(metrics_of(run()), records);
    EXPECT_EQ(files_of(run() / "checkpoints"), saved) << "nothing new was to be saved";
  }
}

TEST_F(TrainerTest, DataThatEndAtOnceNeedNoNewSave) {
  Trainer::Config config = config_of(4);
  train(config);
  config.max_steps = 8;
  config.input.get_if<SyntheticInput>()->num_batches = 4;
  const auto saved = files_of(run() / "checkpoints");
  const Ended ended = train(config, "run", true, /*force=*/true);
  EXPECT_EQ(ended.code, ExitCode::kOk) << ended.error;
  EXPECT_THAT(ended.out, HasSubstr("the data ended after step 4\n"));
  EXPECT_EQ(files_of(run() / "checkpoints"), saved);
}

TEST_F(TrainerTest, AnEvaluationThatIsOwedNeedsNoRoomForAnotherCheckpoint) {
  make_directories(run());
  if (::mount("tmpfs", run().c_str(), "tmpfs", 0, "size=1m,nr_inodes=100") != 0)
    GTEST_SKIP() << "may not mount a small disk: " << std::strerror(errno);
  train(config_of(4));
  const auto records = without_evaluation(run());
  // Creates as many files as the disk permits. Existing files can still grow.
  for (int i = 0; i < 100 && std::ofstream(run() / std::to_string(i)).is_open(); ++i) {
  }
  const Ended ended = train(config_of(4));
  EXPECT_EQ(ended.code, ExitCode::kOk) << ended.error;
  EXPECT_EQ(metrics_of(run()), records);
  EXPECT_EQ(state_of(run()).step, 4);
  ::umount(run().c_str());
}

TEST_F(TrainerTest, EvaluationsAndSavesChangeNoStep) {
  train(config_of(8), "run");
  Trainer::Config quiet = config_of(8);
  quiet.evalers.clear();
  quiet.checkpointer.every_steps = 100;
  train(quiet, "quiet");
  EXPECT_EQ(state_of(run()).tensors, state_of(run("quiet")).tensors);
}

TEST_F(TrainerTest, LayerSummariesAppearAndChangeNoStep) {
  Trainer::Config config = config_of(2);
  train(config, "plain");
  config.layer_summaries = true;
  train(config);
  const auto records = metrics_of(run());
  EXPECT_TRUE(
      records.at(0).contains("summary/model/decoder/layers/layer0/attention/body/core/max_logit"))
      << records.at(0);
  EXPECT_EQ(state_of(run()).tensors, state_of(run("plain")).tensors);
  const nlohmann::json plain = metrics_of(run("plain")).at(0);
  for (const auto& [name, value] : plain.items()) {
    EXPECT_THAT(name, Not(::testing::StartsWith("summary/")));
    EXPECT_EQ(records.at(0).at(name), value);
  }
}

TEST_F(TrainerTest, AnotherConfigIsRefusedWithTheDifference) {
  train(config_of(4));
  Trainer::Config other = config_of(8);
  other.learner.get_if<Learner>()->optimizer.get_if<AdamW>()->b1 = 0.5;
  const auto before = state_of(run()).tensors;
  const Ended refused = train(other);
  EXPECT_EQ(refused.code, ExitCode::kUser);
  EXPECT_THAT(refused.error, HasSubstr("\n  learner.optimizer.b1: 0.9 -> 0.5"));
  EXPECT_EQ(state_of(run()).tensors, before);
  const Ended forced = train(other, "run", true, /*force=*/true);
  EXPECT_EQ(forced.code, ExitCode::kOk) << forced.error;
  EXPECT_EQ(state_of(run()).step, 8);
  // The new config is the run's config from now on.
  EXPECT_EQ(train(other).code, ExitCode::kOk);
}

TEST_F(TrainerTest, ANewRunNeedsAnEmptyFolder) {
  train(config_of(4));
  const Ended refused = train(config_of(8), "run", /*resume=*/false);
  EXPECT_EQ(refused.code, ExitCode::kUser);
  EXPECT_THAT(refused.error, HasSubstr("holds checkpoints of an earlier run"));
  EXPECT_EQ(train(config_of(4), "fresh", /*resume=*/false).code, ExitCode::kOk);
}

TEST_F(TrainerTest, TwoRunsDoNotShareAFolder) {
  const Trainer first(config_of(4), {.dir = run(), .backend = "interpreter"});
  const Ended second = train(config_of(4));
  EXPECT_EQ(second.code, ExitCode::kStorage);
  EXPECT_THAT(second.error, HasSubstr("expected a folder that no other run uses"));
}

// An input that can't be read after some batches.
class BrokenInput final : public Input {
 public:
  struct Config {
    int64_t num_good = 5;
    AXLE_CONFIG(BrokenInput, num_good)
  };
  BrokenInput(const Config& cfg, const Dims& dims, const Scope& scope)
      : good_({.seq_len = 16, .batch_size = 8, .num_batches = cfg.num_good}, dims, scope) {}
  Tree<Type> element_spec() const override { return good_.element_spec(); }
  std::optional<Batch> next() override {
    if (auto batch = good_.next()) return batch;
    throw DataError("corpus.txt:9: broken");
  }
  std::string state() const override { return good_.state(); }
  void restore(std::string_view state) override { good_.restore(state); }

 private:
  SyntheticInput good_;
};
AXLE_REGISTER(BrokenInput)

TEST_F(TrainerTest, ARefusedStartLeavesNoFolder) {
  const auto expect_refused = [&](const Trainer::Config& config, RunOptions options) {
    options.dir = dir_ / "run";
    options.backend = "interpreter";
    EXPECT_NE(error_of<Error>([&] { Trainer(config, options).run(); }), "no error");
  };
  Trainer::Config negative = config_of(-1), often = config_of(4), broken = config_of(4);
  often.checkpointer.every_steps = 0;
  broken.input = BrokenInput::Config{.num_good = 0};
  replace_file(dir_ / "executable", "of something else");
  for (const bool there : {false, true}) {
    if (there) make_directories(run());
    expect_refused(negative, {});
    expect_refused(often, {});
    expect_refused(broken, {});
    expect_refused(config_of(4), {.dir = {}, .executable = dir_ / "executable"});
    EXPECT_EQ(directory_exists(run()), there);
  }
}

TEST_F(TrainerTest, AnIncompleteConfigNamesWhatIsMissing) {
  Trainer::Config config = tiny_config();
  config.max_steps = REQUIRED;
  config.input = {};
  const Ended ended = train(config);
  EXPECT_EQ(ended.code, ExitCode::kUser);
  EXPECT_THAT(ended.error, HasSubstr("REQUIRED but not set: input, max_steps"));
}

// Two writers of one folder would hide each other's points.
TEST_F(TrainerTest, OneWriterHasTheTensorBoardFolder) {
  Trainer::Config config = tiny_config();
  config.writers["a"] = TensorBoardWriter::Config{};
  config.writers["b"] = TensorBoardWriter::Config{.every_steps = 1};
  const Ended ended = train(config);
  EXPECT_EQ(ended.code, ExitCode::kUser);
  EXPECT_THAT(ended.error,
              HasSubstr("writers['a'] and writers['b']: expected one TensorBoardWriter"));
  config.writers.erase("a");
  EXPECT_EQ(train(config).code, ExitCode::kOk);
}

TEST_F(TrainerTest, TheEndOfTheDataEndsTheRun) {
  Trainer::Config config = config_of(100);
  config.input.get_if<SyntheticInput>()->num_batches = 3;
  const Ended ended = train(config);
  EXPECT_EQ(ended.code, ExitCode::kOk);
  EXPECT_THAT(ended.out, HasSubstr("the data ended after step 3\n"));
  EXPECT_EQ(state_of(run()).step, 3);
}

TEST_F(TrainerTest, StepsBeforeBrokenDataAreSaved) {
  Trainer::Config config = config_of(20);
  config.input = BrokenInput::Config{};
  const Ended ended = train(config);
  EXPECT_EQ(ended.code, ExitCode::kData);
  EXPECT_EQ(ended.error, "corpus.txt:9: broken");
  EXPECT_THAT(ended.out, HasSubstr("the run failed after step 5, which is saved\n"));
  EXPECT_EQ(state_of(run()).step, 5);
  expect_no_holes(run(), 5);
}

TEST_F(TrainerTest, ADamagedCheckpointIsToldAndTheOneBeforeTaken) {
  train(config_of(12), "whole");
  train(config_of(8));
  const std::filesystem::path data = checkpoint_folder(run() / "checkpoints", 8) / "data_00000.bin";
  std::string bytes = read_file(data);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x10);
  replace_file(data, bytes);
  const Ended ended = train(config_of(12));
  EXPECT_EQ(ended.code, ExitCode::kOk) << ended.error;
  EXPECT_THAT(ended.err, HasSubstr("step_00000008/data_00000.bin"));
  EXPECT_THAT(ended.out, HasSubstr("resumed from step 4\n"));
  expect_same_run(run(), run("whole"));
}

}  // namespace
}  // namespace axle
