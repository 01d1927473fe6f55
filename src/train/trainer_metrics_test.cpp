// Metrics of a run: those of more than one element, MFU and HFU.
#include "config/set.h"
#include "nn/remat_policies.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reductions/reductions.h"
#include "pjrt/pjrt_runtime.h"
#include "targets/machine_peak.h"
#include "train/config/run_modules.h"
#include "train/program/model_flops.h"
#include "train/record/metrics.h"
#include "train/trainer_run_test.h"
#include "transform/bodies.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

int g_forwards_outside_training = 0;

// A model of three weights, with a metric that holds them and without a matrix product.
class WeightsAlone final : public Model {
 public:
  struct Config {
    bool for_training_only = false;
    AXLE_CONFIG(WeightsAlone, for_training_only)
  };
  WeightsAlone(const Config& cfg, const Dims&, const Scope& scope)
      : Model(scope), cfg_(cfg), weight_(param("weight", {.shape = {3}, .init = Ones{}})) {}
  int64_t vocab_size() const override { return 4; }

 protected:
  ModelOutput forward(const Tree<Tensor>&) override {
    if (!is_training()) {
      ++g_forwards_outside_training;
      if (cfg_.for_training_only) throw std::runtime_error("made for training only");
    }
    const Tensor numbers = weight_() * (iota({3}, 0, DType::kF32) + 1.0);
    return {.loss = sum(square(numbers)), .metrics = {{"numbers", numbers}}};
  }
  Tensor logits_forward(const Tree<Tensor>&) override { return weight_(); }
  Tensor next_logits_forward(const Tree<Tensor>&) override { return weight_(); }

 private:
  Config cfg_;
  Param weight_;
};
AXLE_REGISTER(WeightsAlone)

class TrainerMetrics : public TrainerTest {
 protected:
  TrainerMetrics() { g_forwards_outside_training = 0; }
  static Trainer::Config weights_alone(int64_t steps, bool for_training_only) {
    Trainer::Config config = config_of(steps);
    config.model = WeightsAlone::Config{.for_training_only = for_training_only};
    if (for_training_only) config.evalers.clear();
    return config;
  }
  // Returns the records of one split ("" for training), including their times.
  std::vector<nlohmann::json> records(const std::string& split, const std::string& name = "run") {
    std::vector<nlohmann::json> out;
    for (nlohmann::json& record : records_of(run(name))) {
      if (record.value("split", "") == split) out.push_back(std::move(record));
    }
    return out;
  }
};

TEST_F(TrainerMetrics, ElementsOfAVectorAreNumberedInTrainingAndInEvaluations) {
  EXPECT_EQ(train(weights_alone(2, false)).code, ExitCode::kOk);
  const auto training = records(""), evaluated = records("held_out");
  ASSERT_EQ(training.size(), 2u);
  ASSERT_EQ(evaluated.size(), 1u);
  const HostTensor weight = state_of(run()).tensors.at("model/weight");
  for (int i = 0; i < 3; ++i) {
    const std::string name = "numbers/" + std::to_string(i);
    EXPECT_EQ(training[0].at(name), i + 1);
    EXPECT_NEAR(evaluated[0].at(name), weight.at(i) * (i + 1), 1e-6);
  }
  for (const auto* record : {&training[0], &evaluated[0]}) {
    EXPECT_FALSE(record->contains("numbers"));
    EXPECT_FALSE(record->contains("numbers/3"));
  }
}

// Models may not report under the names of records, so the table of these names must be complete.
TEST_F(TrainerMetrics, AllThatARunWritesHasANameOfARecord) {
  Trainer::Config config = weights_alone(4, false);
  auto& learner = *config.learner.get_if<Learner>();
  learner.norms = NormMetrics::kAll;
  learner.optimizer.get_if<AdamW>()->learning_rate = ConstantRate{.value = 1e30};
  config.on_non_finite = OnNonFinite::kSkip;
  config.layer_summaries = true;
  EXPECT_EQ(train(config).code, ExitCode::kOk);
  std::set<std::string> written, allowed = {"numbers/0", "numbers/1", "numbers/2"};
  for (const std::string split : {"", "held_out"}) {
    for (const auto& record : records(split)) {
      for (const auto& [name, value] : record.items()) written.insert(name);
    }
  }
  for (const RecordName& row : record_names()) allowed.emplace(row.name);
  EXPECT_THAT(written, ::testing::IsSupersetOf({"split", "skipped", "update_norm", "wall_secs"}));
  EXPECT_THAT(written, ::testing::IsSubsetOf(allowed));
}

TEST_F(TrainerMetrics, OperationsAreCountedOnceAndNotOfAModelThatOnlyTrains) {
  Trainer::Config quiet = weights_alone(3, false);
  quiet.evalers.clear();
  EXPECT_EQ(train(quiet).code, ExitCode::kOk);
  EXPECT_EQ(g_forwards_outside_training, 1);  // one for three steps, though nothing to count

  const Ended ended = train(weights_alone(2, true), "training");
  EXPECT_EQ(ended.code, ExitCode::kOk) << ended.error;
  EXPECT_THAT(ended.out,
              HasSubstr("mfu stays 0: the FLOPs of the model are not known, because its forward "
                        "pass outside of training fails: made for training only\n"));
  ASSERT_EQ(records("", "training").size(), 2u);
  for (const auto& record : records("", "training")) {
    EXPECT_EQ(record.at("mfu"), 0);
    EXPECT_GT(record.at("hfu"), 0);
  }
}

// The dtype of the products is compute_dtype, or that of the weights if there is none.
TEST_F(TrainerMetrics, ThePeakIsThatOfTheProducts) {
  const auto dtype_of = [](std::optional<DType> weights, std::optional<DType> compute) {
    Trainer::Config config = config_of(1);
    if (weights) set(config, "model.@dtype", to_text(*weights));
    config.compute_dtype = compute;
    const RunModules training(config);
    return model_flops(training.program_spec({}, training.make_input()->element_spec())).dtype;
  };
  EXPECT_EQ(dtype_of({}, {}), DType::kF32);
  EXPECT_EQ(dtype_of({}, DType::kBF16), DType::kBF16);
  EXPECT_EQ(dtype_of(DType::kBF16, {}), DType::kBF16);
  EXPECT_EQ(dtype_of(DType::kF64, {}), DType::kF64);

  const Topology tpu{.platform = "tpu", .platform_version = "", .devices = {{.kind = "TPU v5"}}};
  const ModelFlops flops{.count = 6, .dtype = DType::kF32};
  EXPECT_THAT(
      mfu_notes(flops, machine_peak(tpu, DType::kF32), tpu),
      ::testing::ElementsAre("mfu stays 0: no peak is known for products of f32 on TPU v5"));
  EXPECT_THAT(
      mfu_notes(flops, machine_peak(tpu, DType::kBF16), tpu),
      ::testing::ElementsAre("mfu is the model's share of 459 TFLOP/s (published: TPU v5)"));
}

TEST_F(TrainerMetrics, LongStepsAreToldBeforeTheyBegin) {
  Trainer::Config config = config_of(3);
  int64_t most_rows = 1000;  // that fit into memory
  const auto notes = [&](double flops, double peak) {
    return step_time_notes(config, {.count = flops}, {.flops = peak, .source = ""},
                           [&](int64_t rows) { return std::min(rows, most_rows); });
  };
  EXPECT_THAT(notes(1e9, 2e9), ::testing::ElementsAre());
  EXPECT_THAT(notes(1e9, 0), ::testing::ElementsAre());
  EXPECT_THAT(notes(0, 1e9), ::testing::ElementsAre());
  EXPECT_THAT(notes(5e9, 1e9),
              ::testing::ElementsAre("a step takes at least 5s: 5e+09 FLOPs at this "
                                     "machine's peak"));
  set(config, "input.batch_size", "16");
  EXPECT_THAT(
      notes(960e9, 1e9),
      ::testing::ElementsAre(::testing::StartsWith("a step takes at least 16m00s"),
                             "WARNING: a step takes long here; --set input.batch_size=1 in "
                             "place of 16 makes it at least 1m00s; a smaller recipe (axle "
                             "config list) or a machine with accelerators makes it shorter"));
  EXPECT_THAT(notes(96e9, 1e9)[1], ::testing::HasSubstr("--set input.batch_size=10 in place of 16 "
                                                        "makes it at least 1m00s;"));
  most_rows = 7;
  EXPECT_THAT(notes(96e9, 1e9)[1], ::testing::HasSubstr("--set input.batch_size=7 in place of 16 "
                                                        "makes it at least 42s;"));
  most_rows = 0;
  EXPECT_THAT(notes(96e9, 1e9)[1], ::testing::Not(::testing::HasSubstr("--set")));
  most_rows = 1000;
  set(config, "input.batch_size", "1");
  EXPECT_THAT(notes(96e9, 1e9)[1], ::testing::Not(::testing::HasSubstr("--set")));
}

// Floating-point operations of a step, derived from a run's metrics.
struct StepFlops {
  double model, program;
};

TEST_F(TrainerMetrics, MfuCountsTheModelAndHfuTheProgram) {
  const auto runtime = make_runtime({.backend = "interpreter"});
  const auto flops_of = [&](const Trainer::Config& config, const std::string& name,
                            DType products = DType::kF32) {
    const double peak = machine_peak(runtime->topology(), products).flops;
    EXPECT_GT(peak, 0);
    EXPECT_EQ(train(config, name).code, ExitCode::kOk);
    const RunModules training(config);
    const auto input = training.make_input();
    const auto num_tokens = static_cast<double>(num_real_positions(*input->next()));
    const ProgramSpec spec = training.program_spec({}, input->element_spec());
    const StepFlops expected{.model = model_flops(spec).count,
                             .program = region_flops(*step_program(spec).graph)};
    EXPECT_EQ(records("", name).size(), 3u);
    for (const auto& record : records("", name)) {
      const double secs = num_tokens / record.at("tokens_per_sec").get<double>();
      EXPECT_NEAR(record.at("mfu"), expected.model / (secs * peak),
                  1e-6 * expected.model / peak / secs);
      EXPECT_NEAR(record.at("hfu"), expected.program / (secs * peak),
                  1e-6 * expected.program / peak / secs);
    }
    return expected;
  };
  Trainer::Config plain = config_of(3);
  plain.evalers.clear();
  Trainer::Config remat = plain;
  Stacked::Config layers{.num_layers = 2, .layer = tiny_layer(0.1)};
  layers.layer->options.remat = SaveNothing{};
  remat.model = tiny_model(layers);
  const StepFlops without = flops_of(plain, "plain"), with = flops_of(remat, "remat");
  EXPECT_EQ(with.model, without.model);
  // The forward pass is a third of the model's FLOP, and remat repeats most of it.
  EXPECT_GT(with.program, without.program + 0.5 * without.model / 3);
  EXPECT_GT(without.program, without.model);  // elementwise work and the optimizer
  // The peak is that of the dtype that the products have.
  Trainer::Config wide = plain;
  wide.model.options.dtype = DType::kF64;
  flops_of(wide, "wide", DType::kF64);
  EXPECT_NE(machine_peak(runtime->topology(), DType::kF64).flops,
            machine_peak(runtime->topology(), DType::kF32).flops);
}

}  // namespace
}  // namespace axle
