// Tests the programs of a training run as graphs: their inputs and outputs.
#include "train/program/programs.h"

#include <gmock/gmock.h>

#include "config/register.h"
#include "ir/host_tensor.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reductions/reductions.h"
#include "pjrt/pjrt_runtime.h"
#include "testing/error_of.h"
#include "train/program/non_finite.h"
#include "train/record/metrics.h"
#include "train/step_run_test.h"
#include "train/tiny_config_test.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A model built from its config, with what its programs are traced from.
struct Built {
  explicit Built(const Child<Model>& config, bool layer_summaries = false)
      : model(config.build({}, Scope{.path = "model"})),
        learner(tiny_learner().build({.params = model->param_specs()}, Scope{.path = "learner"})),
        spec{.model = *model,
             .learner = learner.get(),
             .batch = batch_spec(8, 16),
             .layer_summaries = layer_summaries} {}
  std::unique_ptr<Model> model;
  std::unique_ptr<Learner> learner;
  ProgramSpec spec;
};

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tree<HostTensor> first_batch() {
  SyntheticInput input({.seq_len = 16, .batch_size = 8}, {.vocab_size = 32, .seed = 1}, Scope{});
  return input.next()->tensors;
}

std::vector<std::string> output_names(const Program& program) {
  std::vector<std::string> out;
  for (const ProgramValue& v : program.outputs) out.push_back(v.name);
  return out;
}

TEST(Programs, StateIsSortedAndShardedAsItsParameters) {
  const Built built(tiny_model(tiny_loop()));
  const std::vector<ProgramValue> state = train_state(*built.model, *built.learner);
  EXPECT_TRUE(std::ranges::is_sorted(state, {}, &ProgramValue::name));
  Tree<ProgramValue> by_name;
  for (const ProgramValue& v : state) by_name.emplace(v.name, v);
  int moments = 0;
  for (const auto& [path, spec] : built.model->param_specs()) {
    EXPECT_EQ(by_name.at(path).sharding, spec.partition());
    for (const std::string moment : {"m", "v"}) {
      const ProgramValue& v = by_name.at("learner/optimizer/" + moment + "/" + path);
      EXPECT_EQ(v.sharding, spec.partition()) << v.name;
      EXPECT_EQ(v.type, (Type{DType::kF32, spec.shape})) << v.name;
      ++moments;
    }
  }
  EXPECT_EQ(state.size(), built.model->param_specs().size() + static_cast<size_t>(moments) +
                              2);  // and count, prng_key
  EXPECT_EQ(by_name.at("prng_key").type, (Type{DType::kU32, {2}}));
}

// The learner's state of the parameter, which sorts before it, has the same mistake.
TEST(Programs, AMistakeInAShardingNamesTheParameter) {
  Built built(tiny_model(tiny_loop()));
  built.spec.mesh = Mesh{{{"fsdp", 3}}};
  for (const auto& make : {+[](const ProgramSpec& spec) { return init_program(spec); },
                           +[](const ProgramSpec& spec) { return step_program(spec); }}) {
    EXPECT_THAT(
        error_of<ConfigError>([&] { make(built.spec); }),
        ::testing::MatchesRegex("model/.*: dim . must be divisible by its mesh axes, got .*"));
  }
}

TEST(Programs, StepsDonateTheWholeState) {
  const Built built(tiny_model(tiny_loop()));
  const std::vector<ProgramValue> state = train_state(*built.model, *built.learner);
  const Program step = step_program(built.spec);
  ASSERT_EQ(step.inputs.size(), state.size() + built.spec.batch.size());
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    const bool of_state = i < state.size();
    EXPECT_EQ(step.inputs[i].donated_to, of_state ? static_cast<int>(i) : -1)
        << step.inputs[i].name;
    if (!of_state) continue;
    EXPECT_EQ(step.inputs[i].name, step.outputs[i].name);
    EXPECT_EQ(step.inputs[i].type, step.outputs[i].type) << step.inputs[i].name;
  }
  const auto names = output_names(step);
  const std::vector<std::string> metrics(names.begin() + state.size(), names.end());
  EXPECT_THAT(metrics,
              ::testing::ElementsAre("accuracy", "cross_entropy", "grad_norm", "learning_rate",
                                     "loss", "not_finite", "num_targets", "skipped"));
}

TEST(Programs, LayerSummariesCostNothingWhenTheyAreOff) {
  const Child<Model> model = tiny_model(tiny_stack());
  const Program with = step_program(Built(model, true).spec),
                without = step_program(Built(model, false).spec);
  EXPECT_THAT(
      output_names(with),
      ::testing::Contains("summary/model/decoder/layers/layer1/attention/body/core/max_logit"));
  EXPECT_THAT(
      output_names(with),
      ::testing::Contains("summary/model/decoder/layers/layer0/feed_forward/body/dead_units"));
  EXPECT_THAT(output_names(without), Not(::testing::Contains(::testing::StartsWith("summary/"))));
  EXPECT_LT(without.graph->ops().size(), with.graph->ops().size());
}

TEST(Programs, SummariesOfALoopHaveAValueForEachLayer) {
  const Program step = step_program(Built(tiny_model(tiny_loop()), true).spec);
  const auto v = std::ranges::find(
      step.outputs, "summary/model/decoder/layers/layer/attention/body/core/max_logit",
      &ProgramValue::name);
  ASSERT_NE(v, step.outputs.end());
  EXPECT_EQ(v->type, (Type{DType::kF32, {2}}));
}

TEST(Programs, EvaluationTakesParametersAndBatchAlone) {
  const Built built(tiny_model(tiny_stack(0.5)));
  const Program eval = eval_program(built.spec);
  EXPECT_EQ(eval.inputs.size(), built.model->param_specs().size() + built.spec.batch.size());
  EXPECT_THAT(output_names(eval),
              ::testing::ElementsAre("accuracy", "cross_entropy", "loss", "num_targets"));
}

TEST(Programs, InitialStateDependsOnTheSeedAlone) {
  const auto runtime = make_runtime({.backend = "interpreter"});
  StepRun run(
      *runtime,
      {.model = tiny_model(tiny_loop()), .learner = tiny_learner(), .batch = batch_spec(8, 16)});
  const Tree<HostTensor> a = run.initial_state(1);
  EXPECT_EQ(a, run.initial_state(1));
  const Tree<HostTensor> b = run.initial_state(2);
  EXPECT_NE(a.at("prng_key"), b.at("prng_key"));
  EXPECT_NE(a.at("model/decoder/emb/weight"), b.at("model/decoder/emb/weight"));
  EXPECT_EQ(a.at("learner/count"), HostTensor::scalar(0));
}

// A learner that replaces a number of the new parameters or state by the text `by`.
enum class Spoiled { kNothing, kParameter, kState };
constexpr auto texts_of(Spoiled) {
  return std::to_array<EnumText<Spoiled>>({{Spoiled::kNothing, "nothing"},
                                           {Spoiled::kParameter, "parameter"},
                                           {Spoiled::kState, "state"}});
}
class SpoilingLearner final : public Learner {
 public:
  struct Config {
    Spoiled spoiled = Spoiled::kNothing;
    std::string by = "0";  // text, since numbers of configs are finite
    AXLE_CONFIG(SpoilingLearner, spoiled, by)
  };
  SpoilingLearner(const Config& cfg, const Dims& dims, const Scope& scope)
      : Learner(*tiny_learner().get_if<Learner>(), dims, scope), cfg_(cfg) {}
  LearnerOutputs apply(const LearnerInputs& in) const override {
    ++num_traced;
    LearnerOutputs out = Learner::apply(in);
    const auto spoil = [&](Tensor& t) {
      t = select(equal(iota(t.type().dims, 0), 0.0), std::stod(cfg_.by), t);
    };
    if (cfg_.spoiled == Spoiled::kParameter) spoil(out.params.at(kSpoiled));
    if (cfg_.spoiled == Spoiled::kState) spoil(out.state.at("optimizer/v/" + kSpoiled));
    return out;
  }
  inline static const std::string kSpoiled =
      "model/decoder/layers/layer1/feed_forward/body/down/weight";
  inline static int num_traced = 0;

 private:
  Config cfg_;
};
AXLE_REGISTER(SpoilingLearner)

// A single NaN or infinity anywhere in the new state, whatever its cause. The trainer keeps such a
// state from being saved (trainer_finite_test.cpp).
TEST(Programs, AnUpdateThatIsNotFiniteIsNamed) {
  const auto runtime = make_runtime({.backend = "interpreter"});
  for (const Spoiled spoiled : {Spoiled::kParameter, Spoiled::kState}) {
    for (const std::string by : {"nan", "inf", "-inf", "1"}) {
      StepRun run(*runtime, {.model = tiny_model(tiny_stack()),
                             .learner = SpoilingLearner::Config{.spoiled = spoiled, .by = by},
                             .batch = batch_spec(8, 16)});
      run.set_state(run.initial_state(1));
      const Tree<double> metrics = run.step(first_batch());
      EXPECT_EQ(metrics.at("skipped"), 0) << "loss and gradient are finite";
      const auto part = static_cast<int64_t>(metrics.at("not_finite"));
      if (by == "1") {
        EXPECT_EQ(part, -1);
        for (const auto& [path, value] : run.state()) EXPECT_TRUE(all_finite(value)) << path;
      } else {
        const FiniteState finite(run.leaves());
        ASSERT_GE(part, 0);
        EXPECT_EQ(finite.groups().at(static_cast<size_t>(part)), SpoilingLearner::kSpoiled);
      }
    }
  }
}

TEST(Programs, TheUpdateIsTracedOnce) {
  Built built(tiny_model(tiny_stack()));
  const Child<Learner> config = SpoilingLearner::Config{};
  const std::unique_ptr<Learner> learner =
      config.build({.params = built.model->param_specs()}, Scope{.path = "learner"});
  built.spec.learner = learner.get();
  SpoilingLearner::num_traced = 0;
  step_program(built.spec);
  EXPECT_EQ(SpoilingLearner::num_traced, 1) << "checks and new values are of one update";
}

TEST(Programs, ALossThatIsNotFiniteKeepsTheState) {
  const auto runtime = make_runtime({.backend = "interpreter"});
  StepRun run(
      *runtime,
      {.model = tiny_model(tiny_stack()), .learner = tiny_learner(), .batch = batch_spec(8, 16)});
  Tree<HostTensor> before = run.initial_state(1);
  HostTensor& weight = before.at("model/decoder/emb/weight");
  weight = HostTensor::full(weight.shape(), kNan);
  run.set_state(before);
  const Tree<double> metrics = run.step(first_batch());
  EXPECT_EQ(metrics.at("skipped"), 1);
  EXPECT_TRUE(std::isnan(metrics.at("learning_rate"))) << "no update was made";
  for (const auto& [path, value] : run.state()) {
    if (path == "prng_key" || path == "model/decoder/emb/weight") continue;
    EXPECT_EQ(value, before.at(path)) << path;
  }
}

TEST(FiniteState, GroupsAreParametersWithWhatIsKeptBesideThem) {
  const Built built(tiny_model(tiny_stack()));
  const FiniteState finite(train_state(*built.model, *built.learner));
  std::vector<std::string> parameters;
  for (const auto& [path, spec] : built.model->param_specs()) parameters.push_back(path);
  EXPECT_EQ(finite.groups(), parameters);
}

// A model with an auxiliary loss that it does not add to its loss.
class StrayModel final : public Model {
 public:
  struct Config {
    AXLE_CONFIG(StrayModel)
  };
  StrayModel(const Config&, const Dims&, const Scope& scope)
      : Model(scope), weight_(param("weight", {.shape = {3}, .init = Ones{}})) {}
  int64_t vocab_size() const override { return 4; }

 protected:
  ModelOutput forward(const Tree<Tensor>&) override {
    add_aux_loss("balance", sum(weight_()));
    return {.loss = sum(weight_() * weight_())};
  }
  Tensor logits_forward(const Tree<Tensor>&) override { return weight_(); }
  Tensor next_logits_forward(const Tree<Tensor>&) override { return weight_(); }

 private:
  Param weight_;
};
AXLE_REGISTER(StrayModel)

TEST(Programs, AnAuxLossThatReachesNoObjectiveIsAnError) {
  const Built built{Child<Model>(StrayModel::Config{})};
  for (const bool training : {true, false}) {
    EXPECT_THAT(error_of([&] { training ? step_program(built.spec) : eval_program(built.spec); }),
                HasSubstr("model/balance: expected the model to add this aux loss"));
  }
}

// A model that reports one metric under a configurable name.
class NamingModel final : public Model {
 public:
  struct Config {
    std::string metric = "accuracy";
    int64_t size = 1;
    AXLE_CONFIG(NamingModel, metric, size)
  };
  NamingModel(const Config& cfg, const Dims&, const Scope& scope)
      : Model(scope), cfg_(cfg), weight_(param("weight", {.shape = {cfg.size}, .init = Ones{}})) {}
  int64_t vocab_size() const override { return 4; }

 protected:
  ModelOutput forward(const Tree<Tensor>&) override {
    return {.loss = sum(weight_() * weight_()), .metrics = {{cfg_.metric, weight_()}}};
  }
  Tensor logits_forward(const Tree<Tensor>&) override { return weight_(); }
  Tensor next_logits_forward(const Tree<Tensor>&) override { return weight_(); }

 private:
  Config cfg_;
  Param weight_;
};
AXLE_REGISTER(NamingModel)

TEST(Programs, AModelReportsUnderNoNameOfARecord) {
  std::vector<std::string> names = {"summary/model/max_logit"};
  for (const RecordName& row : record_names()) names.emplace_back(row.name);
  EXPECT_THAT(names, ::testing::IsSupersetOf({"loss", "step", "split", "not_finite", "skipped",
                                              "mfu", "hfu", "tokens_per_sec", "wall_secs",
                                              "grad_norm", "skipped_documents", "bits_per_byte"}));
  for (const std::string& name : names) {
    for (const int64_t size : {1, 3}) {
      const Built built{Child<Model>(NamingModel::Config{.metric = name, .size = size})};
      for (const bool training : {true, false}) {
        EXPECT_THAT(
            error_of([&] { training ? step_program(built.spec) : eval_program(built.spec); }),
            ::testing::StartsWith("model: metric '" + name + "': expected an unused name, got "));
      }
    }
  }
  for (const std::string name : {"accuracy", "steps", "loss_of_experts", "summaries", "loss/0"}) {
    const Built built{Child<Model>(NamingModel::Config{.metric = name})};
    EXPECT_THAT(output_names(step_program(built.spec)), ::testing::Contains(name));
    EXPECT_THAT(output_names(eval_program(built.spec)), ::testing::Contains(name));
  }
}

// A learner that reports one additional metric.
class NamingLearner final : public Learner {
 public:
  struct Config {
    std::string metric = "trust";
    AXLE_CONFIG(NamingLearner, metric)
  };
  NamingLearner(const Config& cfg, const Dims& dims, const Scope& scope)
      : Learner(*tiny_learner().get_if<Learner>(), dims, scope), cfg_(cfg) {}
  LearnerOutputs apply(const LearnerInputs& in) const override {
    LearnerOutputs out = Learner::apply(in);
    out.metrics.insert_or_assign(cfg_.metric, scalar(1.0));
    return out;
  }

 private:
  Config cfg_;
};
AXLE_REGISTER(NamingLearner)

TEST(Programs, ALearnerReportsUnderNoNameOfARecordOrOfTheModel) {
  Built built(tiny_model(tiny_stack()));
  const auto report = [&](const std::string& name) {
    const Child<Learner> learner = NamingLearner::Config{.metric = name};
    built.learner = learner.build({.params = built.model->param_specs()}, Scope{.path = "learner"});
    built.spec.learner = built.learner.get();
    return error_of([&] { step_program(built.spec); });
  };
  for (const std::string name : {"step", "loss", "skipped", "mfu", "cross_entropy", "summary/a"}) {
    EXPECT_THAT(report(name),
                ::testing::StartsWith("learner: metric '" + name + "': expected an unused name"));
  }
  for (const std::string name : {"trust", "grad_norm", "param_norm"})
    EXPECT_EQ(report(name), "no error") << name;
}

}  // namespace
}  // namespace axle
