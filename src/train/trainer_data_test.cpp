// Tests the data of resumed runs: the same text under another name, another text, documents that
// are left out.
#include "data/text_input.h"
#include "layers/models/causal_lm.h"
#include "learn/schedules/schedules.h"
#include "train/trainer_run_test.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

class TrainerData : public TrainerTest {
 protected:
  TrainerData() {
    make_directories(dir_ / "corpus");
    write("corpus/a.txt", "a quick brown fox jumps over the lazy dog. ");
    write("other.txt", "it was the best of times, it was the worst of times. ");
  }
  void write(const std::string& name, const std::string& sentence) const {
    std::string text;
    for (int i = 0; i < 40; ++i) text += sentence + std::to_string(i) + "\n";
    replace_file(dir_ / name, text);
  }
  Trainer::Config over(const std::filesystem::path& path, int64_t max_steps) const {
    Trainer::Config config = config_of(max_steps);
    config.model.get_if<CausalLM>()->decoder.get_if<Decoder>()->vocab_size = 264;
    config.input = TextInput::Config{
        .source = TextSource::Config{.path = path.string()}, .seq_len = 16, .batch_size = 8};
    config.evalers.clear();
    return config;
  }
  Ended resume(const Trainer::Config& config, bool force, bool restart_data) {
    RunOptions options;
    options.force = force;
    options.restart_data = restart_data;
    return train(config, "run", std::move(options));
  }
};

TEST_F(TrainerData, ThePathMayBeWrittenDifferently) {
  train(over(dir_ / "corpus", 6), "whole");
  train(over(dir_ / "corpus", 3));
  const Ended ended = train(over(std::filesystem::relative(dir_ / "corpus"), 6));
  EXPECT_EQ(ended.code, ExitCode::kOk) << ended.error;
  const RestoredTensors a = state_of(run()), b = state_of(run("whole"));
  EXPECT_EQ(a.tensors, b.tensors);
  EXPECT_EQ(a.metadata.at("data"), b.metadata.at("data"));
  EXPECT_EQ(metrics_of(run()), metrics_of(run("whole")));
}

TEST_F(TrainerData, OtherTextIsRefusedWithTheWayToGoOn) {
  train(over(dir_ / "corpus", 3));
  const auto before = state_of(run()).tensors;
  for (const bool force : {false, true}) {
    const Ended refused = resume(over(dir_ / "other.txt", 6), force, false);
    EXPECT_EQ(refused.code, ExitCode::kData);
    EXPECT_THAT(refused.error, HasSubstr("got other data"));
    EXPECT_THAT(refused.error, HasSubstr("--restart-data to start at the first row"));
  }
  EXPECT_EQ(state_of(run()).tensors, before);
  const Ended ended = resume(over(dir_ / "other.txt", 6), false, true);
  EXPECT_EQ(ended.code, ExitCode::kOk) << ended.error;
  EXPECT_THAT(ended.out, HasSubstr("resumed from step 3, with the data from the first row\n"));
  expect_no_holes(run(), 6);
  // The new data are the run's data from now on.
  EXPECT_EQ(train(over(dir_ / "other.txt", 8)).code, ExitCode::kOk);
}

// A job that is queued again starts with the same command.
TEST_F(TrainerData, TheSameCommandAgainDoesNotRestartTheDataAgain) {
  const auto other = [&](int64_t steps) { return over(dir_ / "other.txt", steps); };
  train(over(dir_ / "corpus", 3), "whole");
  train(over(dir_ / "corpus", 3));
  RunOptions options;
  options.restart_data = true;
  train(other(8), "whole", options);
  for (const int64_t steps : {5, 6, 8}) {
    const Ended ended = resume(other(steps), false, true);
    EXPECT_EQ(ended.code, ExitCode::kOk) << ended.error;
    EXPECT_THAT(ended.out, HasSubstr(steps == 5 ? "with the data from the first row\n"
                                                : "in the data that --restart-data restarted\n"));
  }
  EXPECT_EQ(state_of(run()).metadata.at("data"), state_of(run("whole")).metadata.at("data"));
  EXPECT_EQ(state_of(run()).tensors, state_of(run("whole")).tensors);
  // A run that began with --restart-data also goes on with the same command.
  train(over(dir_ / "other.txt", 2), "new", options);
  const Ended again = train(over(dir_ / "other.txt", 8), "new", options);
  EXPECT_THAT(again.out,
              HasSubstr("resumed from step 2, in the data that --restart-data restarted\n"));
  // Other data once more: these begin from their first row.
  const Ended ended = resume(over(dir_ / "corpus", 9), false, true);
  EXPECT_EQ(ended.code, ExitCode::kOk) << ended.error;
  EXPECT_THAT(ended.out, HasSubstr("resumed from step 8, with the data from the first row\n"));
}

TEST_F(TrainerData, RestartedDataAllowOtherInputsAndNothingElse) {
  train(over(dir_ / "corpus", 3));
  Trainer::Config config = over(dir_ / "other.txt", 6);
  config.input.get_if<TextInput>()->shuffle = Shuffle::kNone;
  const Ended refused = resume(config, false, false);
  EXPECT_EQ(refused.code, ExitCode::kUser);
  EXPECT_THAT(refused.error, HasSubstr("--restart-data if only the data differ"));
  config.seed = 99;
  EXPECT_THAT(resume(config, false, true).error, HasSubstr("\n  seed: 3 -> 99"));
  config.seed = 3;
  EXPECT_EQ(resume(config, false, true).code, ExitCode::kOk);
}

TEST_F(TrainerData, DocumentsThatAreLeftOutAreToldAndLogged) {
  replace_file(dir_ / "corpus/b.txt", "not UTF-8: \xff\n");
  replace_file(dir_ / "corpus/c.txt", "nor this: \xfe\n");
  Trainer::Config config = over(dir_ / "corpus", 2);
  config.input.get_if<TextInput>()->source.get_if<TextSource>()->on_error = OnError::kSkip;
  const Ended ended = train(config);
  EXPECT_EQ(ended.code, ExitCode::kOk) << ended.error;
  EXPECT_THAT(ended.out, HasSubstr("WARNING: input: 2 documents are left out; the first: "));
  EXPECT_THAT(ended.out, HasSubstr("b.txt:1"));
  for (const auto& record : metrics_of(run())) EXPECT_EQ(record.at("skipped_documents"), 2);
  // Without documents left out, nothing is reported.
  const Ended clean = train(over(dir_ / "other.txt", 2), "clean");
  EXPECT_EQ(clean.out.find("left out"), clean.out.npos);
  EXPECT_FALSE(metrics_of(run("clean")).at(0).contains("skipped_documents"));
}

TEST_F(TrainerData, OtherTextOfAnEvalerIsRefused) {
  make_directories(dir_ / "val");
  replace_file(dir_ / "val/a.txt", std::string(500, 'a'));
  replace_file(dir_ / "val/b.txt", "not UTF-8: \xff\n");
  replace_file(dir_ / "val/c.jsonl", "{}\n");
  Trainer::Config config = over(dir_ / "corpus", 2);
  config.evalers["val"] = {
      .input = TextInput::Config{
          .source = TextSource::Config{.path = dir_ / "val", .on_error = OnError::kSkip},
          .seq_len = 16,
          .batch_size = 8,
          .epochs = 1}};
  const Ended ended = train(config);
  EXPECT_EQ(ended.code, ExitCode::kOk) << ended.error;
  EXPECT_THAT(ended.out, HasSubstr("data: evalers.val: "));
  EXPECT_THAT(ended.out, HasSubstr("1 not *.txt"));
  EXPECT_THAT(ended.out, HasSubstr("WARNING: evalers.val.input: 2 documents are left out; the "
                                   "first: "));
}

// A byte is a token, so that bits per byte follow from the mean loss of the batch alone.
TEST_F(TrainerData, StepsAndEvaluationsReportTheMetricsOfText) {
  Trainer::Config config = over(dir_ / "corpus", 2);
  config.evalers["val"] = {
      .input = TextInput::Config{.source = TextSource::Config{.path = dir_ / "other.txt"},
                                 .seq_len = 16,
                                 .batch_size = 8,
                                 .epochs = 1}};
  ASSERT_EQ(train(config).code, ExitCode::kOk);
  int evaluations = 0;
  for (const auto& record : records_of(run())) {
    const double nats = record.at("cross_entropy");
    EXPECT_NEAR(record.at("perplexity"), std::exp(nats), 1e-9 * std::exp(nats));
    EXPECT_NEAR(record.at("bits_per_byte"), nats / std::log(2.0), 0.01 * nats);
    EXPECT_GE(record.at("accuracy"), 0);
    EXPECT_LE(record.at("accuracy"), 1);
    evaluations += record.contains("split");
  }
  EXPECT_EQ(evaluations, 1);
}

TEST_F(TrainerData, ACorpusTooSmallToHoldOutIsRefusedBeforeTheFirstStep) {
  replace_file(dir_ / "tiny.txt", "ab");
  Trainer::Config config = over(dir_ / "corpus", 2);
  config.evalers["held_out"] = {
      .input = TextInput::Config{.source = TextSource::Config{.path = dir_ / "tiny.txt"},
                                 .epochs = 1,
                                 .split = Split::kHeldOut}};
  const Ended ended = train(config);
  EXPECT_EQ(ended.code, ExitCode::kData);
  EXPECT_FALSE(directory_exists(run()));
}

// Runs that are longer than the schedule was made for.
TEST_F(TrainerData, StepsStretchTheScheduleOfTheRunAndWarnOfOthers) {
  const auto rate_at_end = [&](const Schedule& rate, int64_t steps, const std::string& name) {
    Trainer::Config config = over(dir_ / "corpus", steps);
    config.learner.get_if<Learner>()->optimizer.get_if<AdamW>()->learning_rate = rate;
    const Ended ended = train(config, name);
    EXPECT_EQ(ended.code, ExitCode::kOk) << ended.error;
    return std::pair(metrics_of(run(name)).back().at("learning_rate").get<double>(), ended.out);
  };
  const LinearWithWarmup tied{.peak = 1e-2, .warmup_steps = 0},
      fixed{.peak = 1e-2, .warmup_steps = 0, .max_step = 4};
  EXPECT_EQ(rate_at_end(tied, 4, "tied").first, 0);
  const auto [rate, out] = rate_at_end(tied, 7, "tied");  // resumed, with the schedule stretched
  EXPECT_EQ(rate, 0);
  EXPECT_NEAR(metrics_of(run("tied")).at(4).at("learning_rate").get<double>(), 1e-2 * 2 / 7, 1e-8);
  EXPECT_THAT(out, HasSubstr("WARNING: learner.optimizer.learning_rate: 0 at step 4, then 0.002857 "
                             "at step 5, where it was to be 0: the run has 7 steps now, not 4; "
                             "--schedule keep lets it go on from where it stands\n"));
  EXPECT_EQ(rate_at_end(fixed, 4, "fixed").second.find("WARNING"), std::string::npos);
  // An end that the user moved is no matter of the run's length.
  const LinearWithWarmup moved{.peak = 1e-2, .warmup_steps = 0, .max_step = 20};
  EXPECT_EQ(rate_at_end(fixed, 4, "moved").second.find("WARNING"), std::string::npos);
  Trainer::Config config = over(dir_ / "corpus", 7);
  config.learner.get_if<Learner>()->optimizer.get_if<AdamW>()->learning_rate = moved;
  const std::string told = train(config, "moved", /*resume=*/true, /*force=*/true).out;
  EXPECT_THAT(told, HasSubstr("where it was to be 0: the config has changed\n"));
  EXPECT_THAT(
      rate_at_end(fixed, 7, "fixed").second,
      HasSubstr("WARNING: learner.optimizer.learning_rate: is 0 from step 4 on in a run of 7;"));
}

}  // namespace
}  // namespace axle
