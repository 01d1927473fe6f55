// Students and teachers.
#include "layers/models/beside_frozen.h"
#include "layers/models/causal_lm.h"
#include "layers/models/chunked_losses_test.h"
#include "layers/models/multi_token_lm.h"
#include "ops/create.h"
#include "testing/error_of.h"
#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::build_for_test;

CausalLM::Config model(int64_t dim, int64_t vocab_size = 5) {
  return {.decoder = Decoder::Config{
              .model_dim = dim,
              .vocab_size = vocab_size,
              .layers = PreNorm::Config{.body = FeedForward::Config{.hidden_dim = FixedDim{6}}}}};
}
Distillation::Config distilled(Divergence divergence, std::optional<int64_t> chunk = {}) {
  CausalLM::Config student = model(4), teacher = model(6);
  if (chunk) student.loss_chunk_len = *chunk;
  teacher.decoder.get_if<Decoder>()->lm_head = LmHead::Config{};
  return {.student = student,
          .teacher = teacher,
          .divergence = std::move(divergence),
          .temperature = 2,
          .hard_weight = 0.3,
          .soft_weight = 0.7};
}

AXLE_LAYER_LAWS(Distillation, {},
                {{"forward", distilled(ForwardKL{})},
                 {"reverse_chunked", distilled(ReverseKL{}, 3)}})

const HostTensor kLabels({2, 4}, {1, -1, 0, 3, -1, 2, 2, -1});
Tree<HostTensor> batch() {
  return {{"batch/input_ids", testing::token_ids()}, {"batch/target_labels", kLabels}};
}

// The probabilities of one token at a temperature.
std::vector<double> probabilities(const HostTensor& logits, int64_t token, double temperature) {
  std::vector<double> p;
  double z = 0;
  for (int64_t v = 0; v < 5; ++v) p.push_back(std::exp(logits.at(token * 5 + v) / temperature));
  for (const double x : p) z += x;
  for (double& x : p) x /= z;
  return p;
}
double kl(const std::vector<double>& p, const std::vector<double>& q) {
  double sum = 0;
  for (size_t v = 0; v < p.size(); ++v) sum += p[v] * std::log(p[v] / q[v]);
  return sum;
}

// The logits of the teacher, from a model that is built alone.
HostTensor teacher_logits(const testing::TestLayer<Distillation>&, Layer& layer) {
  Tree<HostTensor> state, own;
  testing::add_initial_state(layer, state);
  const std::string from = "distillation/teacher/";
  for (const auto& [path, value] : state)
    if (path.starts_with(from)) own.emplace("causal_lm/" + path.substr(from.size()), value);
  CausalLM::Config teacher = model(6);
  teacher.decoder.get_if<Decoder>()->lm_head = LmHead::Config{};
  auto alone = build_for_test<CausalLM>(teacher, {});
  EXPECT_EQ(own.size(), alone.parameters().size());
  return alone.set_all(own)
      .call({{"batch/input_ids", testing::token_ids()}}, {.method = "logits"})
      .outputs[0];
}

TEST(Distillation, LossMatchesItsDefinition) {
  for (const bool forward : {true, false}) {
    auto layer = build_for_test<Distillation>(
        distilled(forward ? Divergence(ForwardKL{}) : Divergence(ReverseKL{})), {});
    const HostTensor teacher = teacher_logits(layer, layer.layer());
    const HostTensor student =
        layer.call({{"batch/input_ids", testing::token_ids()}}, {.method = "logits"}).outputs[0];
    double divergence = 0, cross_entropy = 0;
    for (int64_t i = 0; i < 8; ++i) {
      if (kLabels.at(i) < 0) continue;
      const auto s = probabilities(student, i, 2), t = probabilities(teacher, i, 2);
      divergence += (forward ? kl(t, s) : kl(s, t)) / 5;
      cross_entropy -= std::log(probabilities(student, i, 1)[kLabels.at(i)]) / 5;
    }
    // loss, accuracy, cross_entropy, distillation, num_targets
    const std::vector<HostTensor> out = layer.call(batch(), {.training = true}).outputs;
    ASSERT_EQ(out.size(), 5u);
    EXPECT_NEAR(out[2].at(0), cross_entropy, 1e-5);
    EXPECT_NEAR(out[3].at(0), divergence, 1e-6);
    EXPECT_NEAR(out[0].at(0), 0.3 * cross_entropy + 0.7 * 4 * divergence, 1e-5);
  }
}

TEST(Distillation, ChunksOfLogitsHaveTheSameLosses) {
  for (const int64_t chunk : {1, 3}) {
    SCOPED_TRACE(chunk);
    testing::expect_same_loss_and_gradients<Distillation>(distilled(ForwardKL{}, chunk),
                                                          distilled(ForwardKL{}), batch());
  }
}

TEST(Distillation, ChunksOfLogitsNeverHoldAllOfThem) {
  EXPECT_TRUE(testing::step_has_whole_logits<Distillation>(distilled(ForwardKL{}), batch(), 5));
  EXPECT_FALSE(testing::step_has_whole_logits<Distillation>(distilled(ForwardKL{}, 1), batch(), 5));
}

TEST(Distillation, TeacherIsStateThatInferenceDoesNotNeed) {
  auto layer = build_for_test<Distillation>(distilled(ForwardKL{}), {});
  const Model& model = layer.layer();
  for (const auto& [path, spec] : model.param_specs())
    EXPECT_TRUE(path.starts_with("distillation/student/")) << path;
  for (const auto& [path, spec] : model.state_specs())
    EXPECT_TRUE(path.starts_with("distillation/teacher/")) << path;
  EXPECT_FALSE(model.state_specs().empty());
  EXPECT_TRUE(inference_state_specs(model).empty());
  // Without the state, so that a call of the teacher would fail.
  const auto names = [&](bool training) {
    return layer.call(batch(), {.training = training}).outputs.size();
  };
  EXPECT_EQ(names(true), 5u);
  EXPECT_EQ(names(false), 4u);
  const auto result = layer.call(batch(), {.training = true});
  EXPECT_TRUE(result.state.empty()) << "training does not change the teacher";
}

TEST(Distillation, MissingTeacherIsNamed) {
  auto layer = build_for_test<Distillation>(distilled(ForwardKL{}), {});
  const auto call = [&](const Values& x) {
    Tree<Tensor> params;
    for (const auto& [path, value] : layer.parameters()) params.emplace(path, constant(value));
    const Invocation untaught("distillation", std::move(params), {.training = true});
    const Tree<Tensor> batch = {{"input_ids", x[0]}, {"target_labels", x[1]}};
    return Values{layer.layer()(batch).loss};
  };
  EXPECT_THAT(error_of([&] {
                eval(call, {testing::token_ids(), kLabels});
              }),
              ::testing::AllOf(::testing::HasSubstr("distillation/teacher/"),
                               ::testing::HasSubstr("expected its state in this call, got none")));
}

TEST(Distillation, StudentKeepsItsOwnLosses) {
  Distillation::Config cfg = distilled(ForwardKL{});
  cfg.student = MultiTokenLM::Config{
      .decoder = model(4).decoder,
      .mtp_head = SequentialMtpHead::Config{
          .layer = PreNorm::Config{.body = FeedForward::Config{.hidden_dim = FixedDim{6}}}}};
  cfg.hard_weight = 0;
  auto layer = build_for_test<Distillation>(cfg, {});
  // loss, accuracy, cross_entropy, distillation, mtp_cross_entropy/1, mtp_loss, num_targets
  const auto out = layer.call(batch(), {.training = true}).outputs;
  ASSERT_EQ(out.size(), 7u);
  EXPECT_GT(out[5].at(0), 0.01);
  EXPECT_NEAR(out[0].at(0), 0.7 * 4 * out[3].at(0) + out[5].at(0), 1e-5);
}

TEST(Distillation, RefusesWhatCannotBeCompared) {
  Distillation::Config cfg = distilled(ForwardKL{});
  cfg.teacher = model(6, 7);
  EXPECT_ERROR(build_for_test<Distillation>(cfg, {}),
               "distillation.teacher: must have the vocabulary of the student, got 7 and 5 token "
               "ids");
  cfg = distilled(ForwardKL{});
  cfg.hard_weight = cfg.soft_weight = 0;
  EXPECT_ERROR(build_for_test<Distillation>(cfg, {}),
               "distillation.soft_weight: expected a positive soft_weight or hard_weight, got 0 "
               "for both");
}

}  // namespace
}  // namespace axle
