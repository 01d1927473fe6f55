// Subjects of eval-layer other than layers: schedules, learners, training steps.
#include "comparison/eval_subject.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/tree.h"
#include "pjrt/pjrt_runtime.h"
#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

HostTensor scalars(std::initializer_list<float> values) {
  return HostTensor({std::ssize(values)}, values);
}

class EvalSubjectTest : public ::testing::Test {
 protected:
  Tree<HostTensor> run(std::string_view file, const Tree<HostTensor>& inputs,
                       const SubjectOptions& options = {}) {
    return evaluate(parse_eval_subject(file, "x.yaml"), {}, inputs, options, *runtime_);
  }
  std::string run_error(std::string_view file, const Tree<HostTensor>& inputs,
                        const SubjectOptions& options = {}) {
    return error_of<Error>([&] { run(file, inputs, options); });
  }
  std::unique_ptr<Runtime> runtime_ = make_runtime({.backend = "interpreter"});
};

TEST_F(EvalSubjectTest, Schedules) {
  constexpr std::string_view kSchedule =
      "class: ConstantWithWarmup\nconfig: {peak: 2, warmup_steps: 4}\n";
  EXPECT_EQ(run(kSchedule, {}, {.num_steps = 6}).at("out"), scalars({0, 0.5, 1, 1.5, 2, 2}));
  EXPECT_EQ(run(kSchedule, {{"in/step", HostTensor({2, 1}, {int64_t{1}, int64_t{7}})}}).at("out"),
            HostTensor({2, 1}, {0.5f, 2.0f}));
  // A schedule that ignores the step, at a single step.
  EXPECT_EQ(run("class: ConstantRate\n", {{"in/step", HostTensor::scalar(3)}}).at("out"),
            HostTensor::scalar(1.0f));
  EXPECT_EQ(run_error(kSchedule, {}), "in/step: expected the steps, or --steps N, got none");
  EXPECT_EQ(run_error(kSchedule, {{"in/stpe", HostTensor::scalar(3)}}, {.num_steps = 1}),
            "in/stpe: nothing in this call reads it; did you mean 'in/step'?");
  EXPECT_EQ(run_error(kSchedule, {{"in/step", HostTensor::scalar(3)}}, {.num_steps = 1}),
            "--steps: expected either --steps or in/step, got both");
  EXPECT_THAT(run_error(kSchedule, {}, {.num_steps = 0}), HasSubstr("--steps: expected 1 to "));
  EXPECT_THAT(run_error(kSchedule, {{"in/step", HostTensor::scalar(0.5)}}),
              HasSubstr("in/step: expected steps that are i32 or f32, got 0.5 in f64[]"));
  EXPECT_THAT(run_error(kSchedule, {{"in/step", HostTensor(Type{DType::kI32, {0}})}}),
              HasSubstr("expected at least one value"));
  EXPECT_EQ(run_error(kSchedule, {}, {.layer = {.training = true}, .num_steps = 1}),
            "--training: not for a schedule");
}

TEST_F(EvalSubjectTest, FunctionsWithTheirGradient) {
  const Tree<HostTensor> out =
      run("class: relu\n", {{"in/x", scalars({-1, 2})}, {"cotangent/0", scalars({3, 4})}},
          {.layer = {.grad = true}});
  EXPECT_EQ(out.at("out"), scalars({0, 2}));
  EXPECT_EQ(out.at("grad/in/x"), scalars({0, 4}));
  EXPECT_THAT(run_error("class: relu\n", {{"in/x", HostTensor::scalar(1)}}),
              HasSubstr("in/x: expected floats, got i32[]"));
}

// Parameters, and the same gradients at every step.
Tree<HostTensor> gradients(int64_t steps) {
  Tree<HostTensor> out = {{"init/w", scalars({1, 2})}, {"init/b/bias", HostTensor::scalar(5.0f)}};
  for (int64_t i = 0; i < steps; ++i) {
    out.emplace(fmt::format("grad/{}/w", i), scalars({1, 10}));
    out.emplace(fmt::format("grad/{}/b/bias", i), HostTensor::ones({1}));  // [1] for []
  }
  return out;
}

constexpr std::string_view kSgd =
    "class: Sgd\nconfig: {learning_rate: {class: ConstantRate, value: 0.5}, momentum: 0.5}\n";

TEST_F(EvalSubjectTest, OptimizersContinueFromASavedState) {
  const Tree<HostTensor> all = run(kSgd, gradients(3));
  EXPECT_EQ(all.at("param/0/w"), scalars({0.5, -3}));
  EXPECT_EQ(all.at("param/0/b/bias"), HostTensor::scalar(4.5f));
  EXPECT_EQ(all.at("state/count"), HostTensor::scalar(3));
  EXPECT_EQ(all.at("learning_rate"), scalars({0.5, 0.5, 0.5}));
  EXPECT_TRUE(all.contains("grad_norm"));

  // Takes one step, then two more from its final state.
  const Tree<HostTensor> first = run(kSgd, gradients(3), {.num_steps = 1});
  EXPECT_EQ(first.at("param/0/w"), all.at("param/0/w"));
  EXPECT_FALSE(first.contains("param/1/w"));
  Tree<HostTensor> rest = gradients(2);
  put_subtree(rest, "init", subtree(first, "param/0"));
  put_subtree(rest, "state", subtree(first, "state"));
  rest.at("state/count") = HostTensor({1}, {int64_t{1}});
  const Tree<HostTensor> last = run(kSgd, rest);
  EXPECT_EQ(last.at("param/1/w"), all.at("param/2/w"));
  EXPECT_EQ(subtree(last, "state"), subtree(all, "state"));
}

TEST_F(EvalSubjectTest, LearnersUpdateParametersFromGradients) {
  const Tree<HostTensor> out =
      run("class: Learner\nconfig: {optimizer: {class: Sgd, learning_rate: {class: ConstantRate, "
          "value: 1}}, transforms: [{class: ClipByGlobalNorm, max_norm: 1}], ema: {}}\n",
          {{"init/w", scalars({1, 2})}, {"grad/0/w", scalars({3, 4})}});
  EXPECT_NEAR(out.at("param/0/w").at(0), 0.4, 1e-6);
  EXPECT_EQ(out.at("grad_norm"), scalars({5}));
  EXPECT_TRUE(out.contains("state/ema/w"));
}

TEST_F(EvalSubjectTest, WrongGradientsAndStates) {
  const auto error = [&](const std::function<void(Tree<HostTensor>&)>& change,
                         const SubjectOptions& options = {}) {
    Tree<HostTensor> inputs = gradients(2);
    change(inputs);
    return run_error(kSgd, inputs, options);
  };
  EXPECT_EQ(error([](auto& in) { in.erase("grad/1/w"); }), "grad/1/w: expected f32[2], got none");
  EXPECT_EQ(error([](auto& in) { in.emplace("grad/1/ww", scalars({1})); }),
            "grad/1/ww: not a parameter of init/; did you mean 'w'?");
  EXPECT_EQ(error([](auto& in) { in.at("grad/1/w") = scalars({1}); }),
            "grad/1/w: expected [2], got [1]");
  EXPECT_EQ(error([](auto& in) {
              in.emplace("grad/3/w", scalars({1, 2}));
            }),
            "grad/3/w: expected grad/<i>/<path> with consecutive i from 0, got none of step 2");
  EXPECT_EQ(error([](auto& in) { std::erase_if(in, [](auto& i) { return i.first[0] == 'g'; }); }),
            "grad/0: expected the gradient of each parameter, got none");
  EXPECT_EQ(error([](auto& in) { std::erase_if(in, [](auto& i) { return i.first[0] == 'i'; }); }),
            "init/: expected the parameters to start from, got none");
  EXPECT_THAT(error([](auto& in) { in.emplace("state/count", HostTensor::scalar(1)); }),
              HasSubstr("state/optimizer/"));
  EXPECT_EQ(error([](auto&) {}, {.num_steps = 3}),
            "--steps: expected 1 to 2, the number of given gradients, got 3");
  EXPECT_EQ(error([](auto&) {}, {.layer = {.init_seed = 3}}), "--seed: not for a learner");
  EXPECT_EQ(error([](auto& in) {
              in.at("init/w") = HostTensor({2}, {1, 2});
            }),
            "init/w: expected floats, got i32[2]");
}

TEST_F(EvalSubjectTest, WeightsHaveOneSource) {
  const EvalSubject subject = parse_eval_subject(kSgd, "x.yaml");
  Tree<HostTensor> inputs = gradients(1), params = subtree(inputs, "init");
  const Tree<HostTensor> expected = evaluate(subject, {}, inputs, {}, *runtime_);
  EXPECT_EQ(evaluate(subject, params, inputs, {}, *runtime_), expected);
  params.at("w") = scalars({7, 7});
  EXPECT_EQ(error_of<Error>([&] { evaluate(subject, params, inputs, {}, *runtime_); }),
            "init/: expected the weights in --inputs or in --params, got both, and they differ");
  inputs.erase("init/w");
  inputs.erase("init/b/bias");
  EXPECT_FALSE(evaluate(subject, params, inputs, {}, *runtime_) == expected);
}

constexpr std::string_view kTraining =
    "model: {class: CausalLM, decoder: {class: Decoder, model_dim: 4, vocab_size: 5, layers: "
    "{class: Repeat, num_layers: 1, layer: {class: TransformerLayer, attention: {class: PreNorm, "
    "body: {class: Attention, num_heads: 2, qkv: RoPE}}, feed_forward: {class: PreNorm, body: "
    "{class: FeedForward, hidden_dim: {class: FixedDim, dim: 4}}}}}}}\n"
    "learner: {class: Learner, optimizer: {class: AdamW, learning_rate: {class: ConstantRate, "
    "value: 0.1}}, ema: {}}\n";

Tree<HostTensor> batches() {
  return {{"batches/input_ids", HostTensor({3, 1, 2}, {0, 1, 2, 3, 1, 0})},
          {"batches/target_labels", HostTensor({3, 1, 2}, {1, 2, 3, 4, 0, 4})}};
}

TEST_F(EvalSubjectTest, TrainingContinuesFromASavedState) {
  const Tree<HostTensor> all = run(kTraining, batches(), {.layer = {.init_seed = 7}});
  for (const char* metric : {"loss", "grad_norm", "param_norm", "learning_rate", "cross_entropy"}) {
    ASSERT_TRUE(all.contains(metric)) << metric;
    EXPECT_EQ(all.at(metric).shape(), Shape{3}) << metric;
  }
  EXPECT_EQ(all.at("state/learner/count"), HostTensor::scalar(3));

  // Takes the steps from the same weights, now given. Then splits the steps into two runs, the
  // second from the state of the first.
  Tree<HostTensor> start = batches();
  put_subtree(start, "init", subtree(all, "init_params"));
  EXPECT_EQ(subtree(run(kTraining, start, {.layer = {.call_key = 3}}), "final"),
            subtree(all, "final"));
  const Tree<HostTensor> first = run(kTraining, start, {.num_steps = 1});
  Tree<HostTensor> rest = {{"batches/input_ids", HostTensor({2, 1, 2}, {2, 3, 1, 0})},
                           {"batches/target_labels", HostTensor({2, 1, 2}, {3, 4, 0, 4})}};
  put_subtree(rest, "init", subtree(first, "final"));
  put_subtree(rest, "state", subtree(first, "state"));
  EXPECT_EQ(subtree(run(kTraining, rest), "final"), subtree(all, "final"));
  EXPECT_EQ(run(kTraining, rest).at("state/learner/ema/model/decoder/emb/weight"),
            all.at("state/learner/ema/model/decoder/emb/weight"));
}

TEST_F(EvalSubjectTest, TrainingReturnsSummariesOfLayers) {
  const std::string file = fmt::format("{}layer_summaries: true\n", kTraining);
  const SubjectOptions options{.layer = {.init_seed = 7}};
  Tree<HostTensor> with = run(file, batches(), options);
  const std::string logit = "summaries/decoder/layers/layer/attention/body/core/max_logit",
                    dead = "summaries/decoder/layers/layer/feed_forward/body/dead_units";
  ASSERT_TRUE(with.contains(logit) && with.contains(dead));
  EXPECT_EQ(with.at(logit).shape(), (Shape{3, 1})) << "of each step, of each layer of the loop";
  EXPECT_NE(with.at(logit).at(0), with.at(logit).at(1));
  std::erase_if(with, [](const auto& t) { return t.first.starts_with("summaries/"); });
  EXPECT_EQ(with, run(kTraining, batches(), options)) << "they change no step";
  EXPECT_THAT(input_sections(parse_eval_subject(file, "x.yaml"), false).ignored,
              ::testing::Contains("summaries"));
}

TEST_F(EvalSubjectTest, WrongBatchesAndWeights) {
  const auto error = [&](const std::function<void(Tree<HostTensor>&)>& change,
                         const SubjectOptions& options = {.layer = {.init_seed = 7}}) {
    Tree<HostTensor> inputs = batches();
    change(inputs);
    return run_error(kTraining, inputs, options);
  };
  const HostTensor ids = batches().at("batches/input_ids");
  EXPECT_EQ(error([&](auto& in) { in.emplace("batches/input_segmnt_ids", ids); }),
            "batches/input_segmnt_ids: nothing in this call reads it; did you mean "
            "'batches/input_segment_ids'?");
  EXPECT_EQ(error([&](auto& in) { in.erase("batches/target_labels"); }),
            "model: the batch must hold target_labels, got none");
  EXPECT_EQ(error([&](auto& in) { in.clear(); }),
            "batches/input_ids: expected [steps, B, T], got none");
  EXPECT_EQ(error([&](auto& in) {
              in.at("batches/target_labels") = HostTensor::ones({2, 1, 2});
            }),
            "batches/target_labels: expected 3 steps, as batches/input_ids has, got f32[2, 1, 2]");
  EXPECT_EQ(error([&](auto&) {}, {}), "init/: expected the weights, or --seed N, got neither");
  EXPECT_EQ(error([&](auto&) {}, {.layer = {.init_seed = 1}, .num_steps = 4}),
            "--steps: expected 1 to 3, the number of given batches, got 4");
  EXPECT_THAT(error([&](auto& in) { in.emplace("init/decoder/embb/weight", ids); }),
              HasSubstr("init/decoder/emb/weight: expected f32[5, 4], got none"));
  EXPECT_THAT(
      error([&](auto& in) { in.emplace("state/learner/count", HostTensor::scalar(1)); }),
      HasSubstr("state/learner/ema/model/decoder/emb/weight: expected f32[5, 4], got none"));
}

TEST_F(EvalSubjectTest, KindIsReadFromTheFile) {
  const auto kind = [](std::string_view text) {
    return std::string(kind_of(parse_eval_subject(text, "x.yaml")));
  };
  EXPECT_EQ(kind("class: RMSNorm\ndims: {input_dim: 3}\n"), "a layer");
  EXPECT_EQ(kind("class: silu\n"), "an activation");
  EXPECT_EQ(kind("class: ConstantRate\n"), "a schedule");
  EXPECT_EQ(kind("class: AdamW\nconfig: {learning_rate: ConstantRate}\n"), "a learner");
  EXPECT_EQ(
      kind("class: Learner\nconfig: {optimizer: {class: Sgd, learning_rate: ConstantRate}}\n"),
      "a learner");
  EXPECT_EQ(kind("recipe: fuji-test-v1\nset: {max_steps: 3}\n"), "a training run");
  EXPECT_EQ(kind(kTraining), "a training run");
  EXPECT_EQ(read_eval_subject("quickstart").index(), 4u);

  const auto error = [](std::string_view text) {
    return error_of([&] { parse_eval_subject(text, "x.yaml"); });
  };
  EXPECT_THAT(error("class: AdmW\n"), HasSubstr("x.yaml: no class is called 'AdmW'; did you mean"));
  EXPECT_THAT(error("class: [AdamW]\n"), HasSubstr("x.yaml: class: expected a name, got"));
  EXPECT_EQ(error("class: Sgd\ndims: {}\n"),
            "x.yaml: dims: only a layer has this key (keys here: class, config)");
  EXPECT_EQ(error("class: silu\nconfig: {}\n"),
            "x.yaml: config: expected none, because the function silu has no fields");
  EXPECT_THAT(error("class: ClipByGlobalNorm\n"),
              HasSubstr("x.yaml: class: expected a layer, a schedule or activation, an optimizer "
                        "or a learner, got ClipByGlobalNorm"));
  EXPECT_THAT(error("class: AdamW\nconfig: {b1: 2}\n"), HasSubstr("x.yaml: "));
  EXPECT_THAT(error("modle: {class: CausalLM}\nlearner: {class: Learner}\n"),
              HasSubstr("x.yaml: modle: no such field; did you mean 'model'?"));
  EXPECT_THAT(error("recipe: quickstrat\n"), HasSubstr("did you mean 'quickstart'"));
  EXPECT_THAT(error("[1]\n"), HasSubstr("x.yaml: expected {class: Name"));
  EXPECT_THAT(error_of([] { read_eval_subject("quickstrat"); }),
              HasSubstr("quickstrat: expected a file or a recipe, got nothing of that name; did "
                        "you mean 'quickstart'?"));
}

}  // namespace
}  // namespace axle
