// Embeddings, decoders and language models.
#include "config/register.h"
#include "config/set.h"
#include "layers/models/causal_lm.h"
#include "layers/models/chunked_losses_test.h"
#include "nn/remat_policies.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reductions/reductions.h"
#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::build_for_test;

Decoder::Config decoder(Child<Block> layers = PreNorm::Config{
                            .body = FeedForward::Config{.hidden_dim = FixedDim{6}}}) {
  return {.model_dim = 4, .vocab_size = 5, .max_seq_len = 8, .layers = std::move(layers)};
}
Decoder::Config untied() {
  Decoder::Config cfg = decoder();
  cfg.lm_head = LmHead::Config{};
  cfg.dropout = Dropout::Config{.rate = 0.2};
  return cfg;
}

AXLE_LAYER_LAWS(Embedding, {.vocab_size = 5, .model_dim = 3},
                {{"default", {}}, {"scaled", {.scale = RootOfDim{}}}})

TEST(Embedding, ScalesTheVectorsButNotTheLogits) {
  const TokenEmbedding::Dims dims{.vocab_size = 2, .model_dim = 4};
  const HostTensor weight({2, 4}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f, 7.0f, 8.0f});
  const HostTensor ids({1, 1}, {1});
  auto root = build_for_test<Embedding>({.scale = RootOfDim{}}, dims);
  auto constant = build_for_test<Embedding>({.scale = ConstantScale{.value = 3}}, dims);
  root.set("weight", weight);
  constant.set("weight", weight);
  EXPECT_EQ(root.run(ids), HostTensor({1, 1, 4}, {10.0f, 12.0f, 14.0f, 16.0f}));
  EXPECT_EQ(constant.run(ids), HostTensor({1, 1, 4}, {15.0f, 18.0f, 21.0f, 24.0f}));
  EXPECT_EQ(root.call({{"x", HostTensor::ones({1, 1, 4})}}, {.method = "attend"}).outputs[0],
            HostTensor({1, 1, 2}, {10.0f, 26.0f}));
}
Decoder::Config capped(Decoder::Config cfg) {
  cfg.logit_cap = 0.5;
  return cfg;
}
AXLE_LAYER_LAWS(Decoder, {},
                {{"tied", decoder()}, {"untied", untied()}, {"capped", capped(decoder())}})
AXLE_LAYER_LAWS(CausalLM, {},
                {{"tied", {.decoder = decoder()}},
                 {"z_loss", {.decoder = untied(), .z_loss_scale = 0.1}}})

TEST(Embedding, LooksUpRowsAndComputesLogits) {
  auto layer = build_for_test<Embedding>({}, {.vocab_size = 3, .model_dim = 2});
  layer.set("weight", HostTensor({3, 2}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}));
  EXPECT_EQ(layer.run(HostTensor({1, 2}, {2, 0})), HostTensor({1, 2, 2}, {5.0f, 6.0f, 1.0f, 2.0f}));
  EXPECT_EQ(
      layer.call({{"x", HostTensor({1, 1, 2}, {1.0f, 1.0f})}}, {.method = "attend"}).outputs[0],
      HostTensor({1, 1, 3}, {3.0f, 7.0f, 11.0f}));
}

TEST(Decoder, ChecksTheLength) {
  auto layer = build_for_test<Decoder>(decoder(), {});
  EXPECT_ERROR(layer.run(HostTensor(Type{DType::kI32, {1, 9}})),
               "decoder: expected at most max_seq_len = 8 positions, got 9");
}

TEST(Decoder, PositionsFitIn32Bits) {
  Decoder::Config cfg;
  set(cfg, "max_seq_len", "2147483647");
  EXPECT_ERROR(set(cfg, "max_seq_len", "2147483648"),
               "max_seq_len: expected an integer from 1 to 2147483647, got '2147483648'");
}

TEST(Decoder, TiedLogitsUseTheEmbedding) {
  auto layer = build_for_test<Decoder>(decoder(), {});
  EXPECT_FALSE(layer.parameters().contains("decoder/lm_head/weight"));
  EXPECT_EQ(layer.run(testing::token_ids()).shape(), (Shape{2, 4, 5}));
}

// However the logits are computed: at once, by chunks of positions, or for the next token.
TEST(Decoder, ALogitCapHoldsForAllLogits) {
  for (const bool tied : {false, true}) {
    auto plain = build_for_test<CausalLM>({.decoder = tied ? decoder() : untied()}, {});
    auto cap = build_for_test<CausalLM>({.decoder = capped(tied ? decoder() : untied())}, {});
    for (const auto& [path, value] : plain.parameters()) {
      const std::string name = path.substr(std::string("causal_lm/").size());
      cap.set(name, value);
    }
    for (const char* method : {"logits", "next_logits"}) {
      const Tree<HostTensor> batch = {{"batch/input_ids", testing::token_ids()}};
      const HostTensor before = plain.call(batch, {.method = method}).outputs[0],
                       after = cap.call(batch, {.method = method}).outputs[0];
      ASSERT_EQ(after.shape(), before.shape());
      double largest = 0;
      for (int64_t i = 0; i < after.size(); ++i) {
        EXPECT_NEAR(after.at(i), 0.5 * std::tanh(before.at(i) / 0.5), 1e-6);
        largest = std::max(largest, std::abs(before.at(i)));
      }
      EXPECT_GT(largest, 0.5) << "the cap changes nothing";
    }
  }
}

Tree<HostTensor> language_model_batch(HostTensor labels) {
  return {{"batch/input_ids", testing::token_ids()}, {"batch/target_labels", std::move(labels)}};
}

// Returns log(sum(exp(logits))) - logits[label] and log(sum(exp(logits))) at one token.
std::pair<double, double> cross_entropy_of(const HostTensor& logits, int64_t token, int64_t label) {
  double z = 0;
  for (int64_t v = 0; v < 5; ++v) z += std::exp(logits.at(token * 5 + v));
  return {std::log(z) - logits.at(token * 5 + label), std::log(z)};
}

TEST(CausalLM, LossIsTheMeanOverLabelsThatCount) {
  auto layer = build_for_test<CausalLM>({.decoder = decoder(), .z_loss_scale = 0.5}, {});
  const HostTensor logits =
      layer.call({{"batch/input_ids", testing::token_ids()}}, {.method = "logits"}).outputs[0];
  const auto out =
      layer.call(language_model_batch(HostTensor({2, 4}, {-1, 2, -1, -1, 4, -1, -100, -1})))
          .outputs;  // loss, then metrics by name
  const auto [ce1, z1] = cross_entropy_of(logits, 1, 2);
  const auto [ce2, z2] = cross_entropy_of(logits, 4, 4);
  const double z_loss = 0.5 * (z1 * z1 + z2 * z2) / 2;
  EXPECT_NEAR(out[0].at(0), (ce1 + ce2) / 2 + z_loss, 1e-5);
  EXPECT_NEAR(out[2].at(0), (ce1 + ce2) / 2, 1e-5) << "cross_entropy";
  EXPECT_EQ(out[3].at(0), 2) << "num_targets";
  EXPECT_NEAR(out[4].at(0), z_loss, 1e-5) << "z_loss";
}

TEST(CausalLM, AccuracyCountsTheTargetsThatHaveTheLargestLogit) {
  auto layer = build_for_test<CausalLM>({.decoder = decoder()}, {});
  const HostTensor logits =
      layer.call({{"batch/input_ids", testing::token_ids()}}, {.method = "logits"}).outputs[0];
  const auto best = [&](int64_t token) {
    int32_t at = 0;
    for (int32_t v = 1; v < 5; ++v)
      if (logits.at(token * 5 + v) > logits.at(token * 5 + at)) at = v;
    return at;
  };
  // Hits at 0, 2 and 5, misses at 3 and 7; the label at 4 is none.
  const HostTensor labels(
      {2, 4}, {best(0), -1, best(2), (best(3) + 1) % 5, -1, best(5), -1, (best(7) + 2) % 5});
  EXPECT_FLOAT_EQ(layer.call(language_model_batch(labels)).outputs[1].at(0), 0.6f);
}

// A model that knows nothing finds each of five tokens equally likely: one target in five is hit.
TEST(CausalLM, TargetsThatShareTheLargestLogitShareTheHit) {
  CausalLM::Config cfg{.decoder = untied()};
  for (const bool chunked : {false, true}) {
    if (chunked) cfg.loss_chunk_len = 3;
    auto layer = build_for_test<CausalLM>(cfg, {});
    layer.set("decoder/lm_head/weight", HostTensor(Type{DType::kF32, {5, 4}}));
    EXPECT_FLOAT_EQ(layer.call(language_model_batch(HostTensor({2, 4}, {0, 1, 2, 3, 4, -1, 4, 4})))
                        .outputs[1]
                        .at(0),
                    0.2f);
  }
}

TEST(CausalLM, ChunksOfLogitsHaveTheSameLoss) {
  for (const Decoder::Config& of : {decoder(), untied(), capped(decoder()), capped(untied())}) {
    CausalLM::Config cfg{.decoder = of, .z_loss_scale = 0.1};
    const CausalLM::Config whole = cfg;
    for (const int64_t chunk : {1, 3, 4, 100}) {
      SCOPED_TRACE(chunk);
      cfg.loss_chunk_len = chunk;
      testing::expect_same_loss_and_gradients<CausalLM>(
          cfg, whole, language_model_batch(HostTensor({2, 4}, {1, 2, -1, 0, 4, 3, 0, -1})));
    }
  }
}

TEST(CausalLM, ChunksOfLogitsNeverHoldAllOfThem) {
  const Tree<HostTensor> inputs =
      language_model_batch(HostTensor({2, 4}, {1, 2, -1, 0, 4, 3, 0, -1}));
  for (const bool tied : {false, true}) {
    CausalLM::Config cfg{.decoder = tied ? decoder() : untied(), .z_loss_scale = 0.1};
    EXPECT_TRUE(testing::step_has_whole_logits<CausalLM>(cfg, inputs, 5));
    cfg.loss_chunk_len = 1;
    EXPECT_FALSE(testing::step_has_whole_logits<CausalLM>(cfg, inputs, 5)) << tied;
  }
}

TEST(CausalLM, LossWithoutLabelsIsZero) {
  auto layer = build_for_test<CausalLM>({.decoder = decoder()}, {});
  EXPECT_EQ(layer.call(language_model_batch(HostTensor({2, 4}, {-1, -1, -1, -1, -1, -1, -1, -1})))
                .outputs[0]
                .at(0),
            0);
}

/// x -> x, with the square of its weight as an auxiliary loss.
class Penalty final : public Mixer {
 public:
  struct Config {
    AXLE_CONFIG(Penalty)
  };
  Penalty(const Config&, const Dims&, const Scope& scope)
      : Mixer(scope), w_(param("w", {.shape = {2}, .init = Ones{}})) {}

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext&) override {
    add_aux_loss("square", sum(w_() * w_()));
    return x_BTD;
  }

 private:
  Param w_;
};
AXLE_REGISTER(Penalty)

TEST(CausalLM, TakesInAuxiliaryLossesThroughLoopAndRemat) {
  const Child<Block> block(PreNorm::Config{.body = {Penalty::Config{}, {.remat = SaveNothing{}}}});
  auto layer = build_for_test<CausalLM>(
      {.decoder = decoder(Repeat::Config{.num_layers = 2, .layer = block})}, {});
  layer.set("decoder/layers/layer/body/w", HostTensor({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f}));
  const Tree<HostTensor> inputs =
      language_model_batch(HostTensor({2, 4}, {1, 2, 0, -1, 4, 0, -1, -1}));
  const auto result = layer.call(inputs, {.training = true});
  EXPECT_TRUE(result.aux_losses.empty()) << "they are in the loss";
  EXPECT_NEAR(result.outputs[0].at(0), result.outputs[4].at(0) + 30, 1e-4);
  EXPECT_EQ(result.outputs[2].at(0), 30) << "aux_loss";
  EXPECT_EQ(result.outputs[3].at(0), 30) << "aux_loss/square";

  const testing::LayerFunction fn = layer.function(inputs, {.training = true});
  const auto paths = fn.parameter_paths();
  const auto at = static_cast<size_t>(
      std::ranges::find(paths, "causal_lm/decoder/layers/layer/body/w") - paths.begin());
  const HostTensor one = HostTensor::scalar(1.0f), none = HostTensor::scalar(0.0f);
  EXPECT_EQ(
      eval(testing::gradient_function(fn, {one, none, none, none, none, none}), fn.arguments())[at],
      HostTensor({2, 2}, {2.0f, 4.0f, 6.0f, 8.0f}));
}

TEST(CausalLM, NamesWhatTheBatchLacks) {
  auto layer = build_for_test<CausalLM>({.decoder = decoder()}, {});
  EXPECT_ERROR(layer.call({{"batch/input_ids", testing::token_ids()}}),
               "causal_lm: the batch must hold target_labels, got none");
}

}  // namespace
}  // namespace axle
