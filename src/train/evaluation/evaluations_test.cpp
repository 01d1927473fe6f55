// Evaluations of a run: they are built and checked before the first step, run after the save of
// their step, and never cost a step.
#include <csignal>

#include "checkpoint/folder.h"
#include "pjrt/pjrt_runtime.h"
#include "train/trainer_run_test.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Observations of an evaluation, and a callback for each of its batches.
struct Witness {
  int built = 0, rewound = 0;
  std::function<void(int64_t batch)> on_batch = [](int64_t) {};
};
Witness g_witness;

// An input of two synthetic batches that reports its use to g_witness.
class WitnessedInput final : public Input {
 public:
  struct Config {
    AXLE_CONFIG(WitnessedInput)
  };
  WitnessedInput(const Config&, const Dims& dims, const Scope& scope)
      : inner_({.seq_len = 16, .batch_size = 8, .num_batches = 2}, dims, scope) {
    ++g_witness.built;
  }
  Tree<Type> element_spec() const override { return inner_.element_spec(); }
  std::optional<Batch> next() override {
    g_witness.on_batch(batch_++);
    return inner_.next();
  }
  std::string state() const override { return inner_.state(); }
  void restore(std::string_view state) override {
    ++g_witness.rewound;
    batch_ = 0;
    inner_.restore(state);
  }

 private:
  SyntheticInput inner_;
  int64_t batch_ = 0;
};
AXLE_REGISTER(WitnessedInput)

// Forwards to `inner`. Appends the name of every program that is compiled or loaded to `compiled`,
// which must outlive it. Refuses to compile the program named `refused`.
class CountingRuntime final : public Runtime {
 public:
  CountingRuntime(std::unique_ptr<Runtime> inner, std::vector<std::string>& compiled,
                  std::string refused = {})
      : inner_(std::move(inner)), compiled_(compiled), refused_(std::move(refused)) {}
  const Topology& topology() const override { return inner_->topology(); }
  std::unique_ptr<Executable> compile(const Program& program,
                                      const CompileOptions& options) override {
    compiled_.push_back(program.name);
    if (program.name == refused_)
      throw DeviceError(program.name + ": refused", ExitCode::kDoesNotCompile);
    return inner_->compile(program, options);
  }
  std::unique_ptr<Executable> load(const std::string& serialized, const Program& program) override {
    compiled_.push_back(program.name);
    return inner_->load(serialized, program);
  }
  ArrayPtr make_array(const HostTensor& value, const PartitionSpec& sharding,
                      const Mesh& mesh) override {
    return inner_->make_array(value, sharding, mesh);
  }

 private:
  std::unique_ptr<Runtime> inner_;
  std::vector<std::string>& compiled_;
  std::string refused_;
};

class TrainerEvaluation : public TrainerTest {
 protected:
  TrainerEvaluation() { g_witness = {}; }
  // A config that saves after every fourth step and evaluates after every third.
  static Trainer::Config witnessed(int64_t max_steps) {
    Trainer::Config config = config_of(max_steps);
    config.checkpointer.mode = SaveMode::kBlocking;
    config.evalers["held_out"] = {.input = WitnessedInput::Config{}, .every_steps = 3};
    return config;
  }
  // Returns options of a run whose compilations are recorded in compiled_.
  RunOptions counting() {
    RunOptions options;
    options.open_runtime = [this](const RuntimeOptions& how) {
      return std::make_unique<CountingRuntime>(make_runtime(how), compiled_);
    };
    return options;
  }
  std::vector<int64_t> evaluated_steps(const std::string& name = "run") const {
    std::vector<int64_t> out;
    for (const auto& record : metrics_of(run(name))) {
      if (record.contains("split")) out.push_back(record.at("step"));
    }
    return out;
  }
  std::vector<std::string> compiled_;
};

TEST_F(TrainerEvaluation, InputIsBuiltOnceAndRewoundAndTheProgramCompiledOnce) {
  EXPECT_EQ(train(witnessed(9), "run", counting()).code, ExitCode::kOk);
  EXPECT_THAT(evaluated_steps(), ElementsAre(3, 6, 9));
  EXPECT_THAT(compiled_, ElementsAre("train_step", "eval_step"));
  EXPECT_EQ(g_witness.built, 1);
  EXPECT_EQ(g_witness.rewound, 3);
}

TEST_F(TrainerEvaluation, EveryOneSeesTheSameBatches) {
  Trainer::Config still = witnessed(6);
  still.learner.get_if<Learner>()->optimizer.get_if<AdamW>()->learning_rate =
      ConstantRate{.value = 0};
  still.learner.get_if<Learner>()->optimizer.get_if<AdamW>()->weight_decay = 0;
  EXPECT_EQ(train(still).code, ExitCode::kOk);
  std::vector<double> losses;
  for (const auto& record : metrics_of(run())) {
    if (record.contains("split")) losses.push_back(record.at("loss"));
  }
  ASSERT_EQ(losses.size(), 2u);
  EXPECT_EQ(losses[0], losses[1]);
}

// With decay 1 the average stays at the initial parameters.
TEST_F(TrainerEvaluation, MayBeOfTheAverage) {
  Trainer::Config config = witnessed(6);
  config.evalers["average"] = config.evalers.begin()->second;
  config.evalers["average"].weights = Weights::kAverage;
  EXPECT_THAT(train(config, "none").error,
              HasSubstr("evalers.average.weights: expected a learner that keeps an average, got "
                        "none; set learner.ema"));
  config.learner.get_if<Learner>()->ema = ParamEma{.decay = ConstantRate{.value = 1}};
  EXPECT_EQ(train(config).code, ExitCode::kOk);
  std::map<std::string, std::set<double>> losses;
  for (const auto& record : metrics_of(run())) {
    if (record.contains("split"))
      losses[record.at("split")].insert(record.at("loss").get<double>());
  }
  EXPECT_EQ(losses.at("average").size(), 1u);
  losses.erase("average");
  EXPECT_EQ(losses.begin()->second.size(), 2u);
}

TEST_F(TrainerEvaluation, ComesBehindTheSaveOfItsStep) {
  for (const SaveMode mode : {SaveMode::kBlocking, SaveMode::kBackground}) {
    const std::string name = to_text(mode);
    Trainer::Config config = witnessed(7);
    config.checkpointer = {.every_steps = 3, .keep_last_n = 10, .mode = mode};
    std::vector<std::vector<int64_t>> saved;
    g_witness.on_batch = [&](int64_t batch) {
      if (batch == 0) saved.push_back(checkpoint_steps(run(name) / "checkpoints"));
    };
    EXPECT_EQ(train(config, name).code, ExitCode::kOk);
    EXPECT_THAT(saved, ElementsAre(ElementsAre(3), ElementsAre(3, 6), ElementsAre(3, 6, 7)));
  }
}

TEST_F(TrainerEvaluation, AProgramThatDoesNotCompileEndsTheRunBeforeItsFirstStep) {
  RunOptions options;
  options.open_runtime = [this](const RuntimeOptions& how) {
    return std::make_unique<CountingRuntime>(make_runtime(how), compiled_, "eval_step");
  };
  const Ended ended = train(witnessed(9), "run", std::move(options));
  EXPECT_EQ(ended.code, ExitCode::kDoesNotCompile);
  EXPECT_THAT(ended.out, Not(HasSubstr("step 1/9")));
  EXPECT_FALSE(directory_exists(run()));
}

TEST_F(TrainerEvaluation, AFailureOfAnyKindCostsNoStep) {
  const std::vector<std::function<void()>> failures = {
      [] { throw DataError("text.txt: broken"); }, [] { throw DeviceError("lost"); },
      [] { throw std::runtime_error("of another library"); }, [] { throw 1; }};
  for (size_t i = 0; i < failures.size(); ++i) {
    const std::string name = std::to_string(i);
    g_witness.on_batch = [&](int64_t) { failures[i](); };
    const Ended ended = train(witnessed(5), name);
    EXPECT_NE(ended.code, ExitCode::kOk);
    EXPECT_THAT(ended.out, HasSubstr("the run failed after step 3, which is saved\n"));
    EXPECT_EQ(state_of(run(name)).step, 3);
    expect_no_holes(run(name), 3);
  }
}

TEST_F(TrainerEvaluation, ASignalEndsItBetweenTwoBatchesAndARestartMakesUpForIt) {
  EXPECT_EQ(train(witnessed(5), "whole").code, ExitCode::kOk);
  for (const int64_t at : {0, 1}) {
    const std::string name = "stopped" + std::to_string(at);
    g_witness.on_batch = [&](int64_t batch) {
      if (batch == at) std::raise(SIGTERM);
    };
    const Ended ended = train(witnessed(5), name);
    EXPECT_EQ(ended.code, ExitCode::kTerminatedAndSaved);
    EXPECT_THAT(ended.out, HasSubstr("stopped by a signal after step 3;"));
    EXPECT_THAT(ended.out, Not(HasSubstr("eval held_out")));
    EXPECT_EQ(state_of(run(name)).step, 3);
    EXPECT_THAT(evaluated_steps(name), ElementsAre());
    g_witness.on_batch = [](int64_t) {};
    EXPECT_EQ(train(witnessed(5), name).code, ExitCode::kOk);
    EXPECT_THAT(evaluated_steps(name), ElementsAre(3, 5));
    expect_same_run(run(name), run("whole"));
  }
}

TEST_F(TrainerEvaluation, ASignalInTheLastOneIsMadeUpForToo) {
  g_witness.on_batch = [](int64_t) { std::raise(SIGTERM); };
  EXPECT_EQ(train(witnessed(2)).code, ExitCode::kTerminatedAndSaved);
  EXPECT_EQ(state_of(run()).step, 2);
  g_witness.on_batch = [](int64_t) {};
  EXPECT_EQ(train(witnessed(2)).code, ExitCode::kOk);
  EXPECT_THAT(evaluated_steps(), ElementsAre(2));
}

TEST_F(TrainerEvaluation, WhatCannotWorkIsRefusedBeforeTheFirstStep) {
  const auto refused = [&](Evaler::Config evaler, RunOptions options = {}) {
    Trainer::Config config = config_of(3);
    if (options.num_devices) config.mesh = {{{"data", *options.num_devices}}};
    config.input.get_if<SyntheticInput>()->batch_size = 16;
    config.evalers["held_out"] = std::move(evaler);
    const Ended ended = train(config, "run", std::move(options));
    EXPECT_EQ(ended.code, ExitCode::kUser);
    EXPECT_FALSE(directory_exists(run()));
    return ended.error;
  };
  const SyntheticInput::Config eight{.seq_len = 16, .batch_size = 8, .num_batches = 2};
  RunOptions sixteen;
  sixteen.num_devices = 16;
  EXPECT_THAT(
      refused({.input = eight}, sixteen),
      HasSubstr("evalers.held_out: input_ids [8, 16]: dim 0 must be divisible by its mesh axes, "
                "got 8 over data=16"));
  EXPECT_EQ(refused({.input = SyntheticInput::Config{.seq_len = 16, .batch_size = 8}}),
            "evalers.held_out.input: expected an input that ends, got one without an end; set "
            "epochs or num_batches");
  EXPECT_EQ(refused({.input = eight, .every_steps = 0}),
            "evalers['held_out'].every_steps: expected an integer of at least 1, got 0");
}

TEST_F(TrainerEvaluation, EvalersOfEqualProgramsShareOneExecutable) {
  Trainer::Config config = witnessed(3);
  config.evalers["other"] = config.evalers.at("held_out");
  config.evalers["longer"] = {
      .input = SyntheticInput::Config{.seq_len = 32, .batch_size = 8, .num_batches = 1}};
  EXPECT_EQ(train(config, "run", counting()).code, ExitCode::kOk);
  EXPECT_THAT(compiled_, ElementsAre("train_step", "eval_step", "eval_step"));
  Tree<double> losses;
  for (const auto& record : metrics_of(run())) {
    if (record.contains("split")) losses[record.at("split")] = record.at("loss");
  }
  ASSERT_EQ(losses.size(), 3u);
  EXPECT_EQ(losses.at("held_out"), losses.at("other"));
  EXPECT_NE(losses.at("held_out"), losses.at("longer"));
}

TEST_F(TrainerEvaluation, WallSecondsGoOnAfterARestart) {
  const auto wall_secs = [&] {
    std::vector<double> out;
    for (const auto& record : records_of(run())) {
      if (record.contains("wall_secs") && !record.contains("eval_secs"))
        out.push_back(record.at("wall_secs"));
    }
    return out;
  };
  train(config_of(4));
  // Rewrites the checkpoint as if the run had taken an hour.
  RestoredTensors saved = state_of(run());
  EXPECT_GE(std::stod(saved.metadata.at("wall_secs")), 0);
  saved.metadata.at("wall_secs") = "3600.5";
  std::filesystem::remove_all(run() / "checkpoints");
  Checkpointer({.mode = SaveMode::kBlocking}, run() / "checkpoints")
      .save(saved.step, saved.tensors, saved.metadata);
  train(config_of(6));
  const std::vector<double> secs = wall_secs();
  ASSERT_EQ(secs.size(), 6u);
  EXPECT_LT(secs[3], 3600);
  EXPECT_GT(secs[4], 3600.5);
  EXPECT_TRUE(std::ranges::is_sorted(secs));
  EXPECT_GT(std::stod(state_of(run()).metadata.at("wall_secs")), 3600.5);
}

}  // namespace
}  // namespace axle
