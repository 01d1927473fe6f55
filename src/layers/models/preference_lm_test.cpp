// Pairs of answers: the loss against its formula.
#include <array>
#include <cmath>

#include "layers/models/beside_frozen.h"
#include "layers/models/causal_lm.h"
#include "layers/models/chunked_losses_test.h"
#include "testing/error_of.h"
#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::build_for_test;

CausalLM::Config model(int64_t dim, int64_t vocab_size = 5) {
  return {.decoder = Decoder::Config{
              .model_dim = dim,
              .vocab_size = vocab_size,
              .layers = PreNorm::Config{.body = FeedForward::Config{.hidden_dim = FixedDim{6}}},
              .lm_head = LmHead::Config{}}};
}
PreferenceLM::Config preference(double smoothing = 0) {
  return {.policy = model(4), .reference = model(6), .beta = 0.5, .label_smoothing = smoothing};
}

// Two pairs: the labels of segment 1 are the chosen answer, those of segment 2 the rejected one.
const HostTensor kSegments({2, 4}, {1, 1, 2, 2, 1, 2, 2, 0});
const HostTensor kLabels({2, 4}, {1, -1, 0, 3, 2, -1, 1, -1});
Tree<HostTensor> batch() {
  return {{"batch/input_ids", testing::token_ids()},
          {"batch/input_segment_ids", kSegments},
          {"batch/is_pair", HostTensor({2}, {1, 1})},
          {"batch/target_labels", kLabels}};
}

double log_prob(const HostTensor& logits, int64_t token, int64_t label) {
  double z = 0;
  for (int64_t v = 0; v < 5; ++v) z += std::exp(logits.at(token * 5 + v));
  return logits.at(token * 5 + label) - std::log(z);
}

HostTensor reference_logits(Layer& layer) {
  Tree<HostTensor> state, own;
  testing::add_initial_state(layer, state);
  const std::string from = "preference_lm/reference/";
  for (const auto& [path, value] : state)
    if (path.starts_with(from)) own.emplace("causal_lm/" + path.substr(from.size()), value);
  return build_for_test<CausalLM>(model(6), {})
      .set_all(own)
      .call({{"batch/input_ids", testing::token_ids()}}, {.method = "logits"})
      .outputs[0];
}

double log_sigmoid(double x) { return -std::log1p(std::exp(-x)); }

TEST(PreferenceLM, LossMatchesItsDefinition) {
  for (const double smoothing : {0.0, 0.2}) {
    auto layer = build_for_test<PreferenceLM>(preference(smoothing), {});
    const HostTensor reference = reference_logits(layer.layer());
    const HostTensor policy =
        layer.call({{"batch/input_ids", testing::token_ids()}}, {.method = "logits"}).outputs[0];
    std::array<std::array<double, 2>, 2> rewards{};  // of each row: chosen, rejected
    for (int64_t i = 0; i < 8; ++i) {
      const auto label = static_cast<int64_t>(kLabels.at(i));
      if (label < 0) continue;
      rewards[i / 4][kSegments.at(i) == 1 ? 0 : 1] +=
          0.5 * (log_prob(policy, i, label) - log_prob(reference, i, label));
    }
    double loss = 0, margin = 0, preferred = 0;
    for (const auto& [chosen, rejected] : rewards) {
      const double m = chosen - rejected;
      loss -= ((1 - smoothing) * log_sigmoid(m) + smoothing * log_sigmoid(-m)) / 2;
      margin += m / 2;
      preferred += m > 0 ? 0.5 : 0;
    }
    // loss, chosen_reward, margin, num_targets, preference_loss, preferred, rejected_reward
    const std::vector<HostTensor> out = layer.call(batch(), {.training = true}).outputs;
    ASSERT_EQ(out.size(), 7u);
    EXPECT_NEAR(out[0].at(0), loss, 1e-5);
    EXPECT_NEAR(out[1].at(0), (rewards[0][0] + rewards[1][0]) / 2, 1e-5);
    EXPECT_NEAR(out[2].at(0), margin, 1e-5);
    EXPECT_EQ(out[3].at(0), 2);
    EXPECT_NEAR(out[4].at(0), loss, 1e-5);
    EXPECT_EQ(out[5].at(0), preferred);
    EXPECT_NEAR(out[6].at(0), (rewards[0][1] + rewards[1][1]) / 2, 1e-5);
  }
}

TEST(PreferenceLM, GradientsMatchTheLoss) {
  auto layer = build_for_test<PreferenceLM>(preference(0.1), {});
  const auto fn = layer.function(batch(), {.training = true});
  testing::check_gradients(fn, fn.arguments(), 1);
}

// The loss and the gradients, with the logits of some positions of either model at once.
TEST(PreferenceLM, ChunksHaveTheSameLossAndNeverHoldAllLogits) {
  const auto chunked = [](std::optional<int64_t> policy, std::optional<int64_t> reference) {
    PreferenceLM::Config out = preference(0.1);
    if (policy) out.policy.get_if<CausalLM>()->loss_chunk_len = *policy;
    if (reference) out.reference.get_if<CausalLM>()->loss_chunk_len = *reference;
    return out;
  };
  for (const auto& [policy, reference] : {std::pair(1, 1), {3, 2}, {2, 100}}) {
    SCOPED_TRACE(policy);
    testing::expect_same_loss_and_gradients<PreferenceLM>(chunked(policy, reference),
                                                          chunked({}, {}), batch());
  }
  const auto has_all = [](const PreferenceLM::Config& cfg) {
    return testing::step_has_whole_logits<PreferenceLM>(cfg, batch(), 5);
  };
  EXPECT_TRUE(has_all(chunked(1, {})));
  EXPECT_TRUE(has_all(chunked({}, 1)));
  EXPECT_FALSE(has_all(chunked(1, 1)));
}

TEST(PreferenceLM, PaddingRowsAreIgnored) {
  auto layer = build_for_test<PreferenceLM>(preference(), {});
  const double expected = layer.call(batch(), {.training = true}).outputs[0].at(0);
  const auto with_padding = [](const HostTensor& x, double fill) {
    Shape shape = x.shape();
    shape[0] = 3;
    HostTensor out(Type{x.dtype(), shape});
    for (int64_t i = 0; i < out.size(); ++i) {
      out.values<int32_t>()[i] = static_cast<int32_t>(i < x.size() ? x.at(i) : fill);
    }
    return out;
  };
  Tree<HostTensor> padded = batch();
  for (auto& [name, value] : padded)
    value = with_padding(value, name == "batch/target_labels" ? -1 : 0);
  EXPECT_NEAR(layer.call(padded, {.training = true}).outputs[0].at(0), expected, 1e-6);
}

TEST(PreferenceLM, ReferenceIsStateThatInferenceDoesNotNeed) {
  auto layer = build_for_test<PreferenceLM>(preference(), {});
  const Model& built = layer.layer();
  for (const auto& [path, spec] : built.param_specs())
    EXPECT_TRUE(path.starts_with("preference_lm/policy/")) << path;
  for (const auto& [path, spec] : built.state_specs())
    EXPECT_TRUE(path.starts_with("preference_lm/reference/")) << path;
  EXPECT_TRUE(inference_state_specs(built).empty());
  // The evaluation of a text is that of the policy: its loss, accuracy, cross entropy and number of
  // targets.
  Tree<HostTensor> text = batch();
  text.erase("batch/is_pair");
  EXPECT_EQ(layer.call(text, {}).outputs.size(), 4u);
}

TEST(PreferenceLM, HeldOutPairsAreEvaluatedAsInTraining) {
  auto layer = build_for_test<PreferenceLM>(preference(0.1), {});
  const auto trained = layer.call(batch(), {.training = true}).outputs,
             evaluated = layer.call(batch(), {}).outputs;
  ASSERT_EQ(evaluated.size(), trained.size());
  for (size_t i = 0; i < trained.size(); ++i) EXPECT_EQ(evaluated[i], trained[i]) << i;
}

TEST(PreferenceLM, WrongModelsAndBatchesAreRefused) {
  PreferenceLM::Config other = preference();
  other.reference = model(6, 7);
  EXPECT_THAT(error_of<ConfigError>([&] { build_for_test<PreferenceLM>(other, {}); }),
              ::testing::HasSubstr("must have the vocabulary of the policy, got 7 and 5"));
  auto layer = build_for_test<PreferenceLM>(preference(), {});
  for (const char* missing : {"input_segment_ids", "is_pair"}) {
    Tree<HostTensor> without = batch();
    without.erase(std::string("batch/") + missing);
    EXPECT_THAT(error_of<ConfigError>([&] { layer.call(without, {.training = true}); }),
                ::testing::HasSubstr(missing));
  }
}

}  // namespace
}  // namespace axle
