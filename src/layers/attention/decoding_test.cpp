// Step parity: decoding tokens step by step with KV caches returns the logits of one forward pass.
#include "config/register.h"
#include "layers/attention/masks/attention_mask.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/attention/qkv/rope.h"
#include "layers/blocks/stack.h"
#include "layers/models/causal_lm.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "testing/error_of.h"
#include "testing/test_layer.h"

namespace axle {
namespace {

using testing::build_for_test;
using testing::CallOptions;
using testing::TestLayer;

constexpr int64_t kBatch = 2, kLength = 6, kVocab = 11;

TransformerLayer::Config layer(Child<AttentionMask> mask) {
  return {.attention =
              PreNorm::Config{
                  .body = Attention::Config{.num_heads = 4,
                                            .num_kv_heads = 2,
                                            .qkv = RoPE::Config{.inner = FusedGroupedQKV::Config{}},
                                            .mask = std::move(mask)}},
          .feed_forward = PreNorm::Config{.body = FeedForward::Config{.hidden_dim = FixedDim{8}}}};
}

CausalLM::Config model(Child<Block> layers) {
  return {.decoder =
              Decoder::Config{.model_dim = 8, .vocab_size = kVocab, .layers = std::move(layers)}};
}

// Returns the columns [from, to) of ids[B, T].
HostTensor columns(const HostTensor& ids, int64_t from, int64_t to) {
  HostTensor out(Type{DType::kI32, {kBatch, to - from}});
  for (int64_t b = 0; b < kBatch; ++b) {
    for (int64_t t = from; t < to; ++t)
      out.values<int32_t>()[b * (to - from) + t - from] =
          static_cast<int32_t>(ids.at(b * ids.shape()[1] + t));
  }
  return out;
}
HostTensor positions(int64_t from, int64_t to) {
  HostTensor row(Type{DType::kI32, {kBatch, to}});
  for (int64_t i = 0; i < kBatch * to; ++i) row.values<int32_t>()[i] = static_cast<int32_t>(i % to);
  return columns(row, from, to);
}

class Decoding : public ::testing::TestWithParam<Child<Block>> {
 protected:
  Decoding() : model_(build_for_test<CausalLM>(model(GetParam()), {})) {
    for (const auto& [path, spec] :
         model_.layer().decode_state_specs({.batch_size = kBatch, .max_len = kLength + 2})) {
      state_.emplace(path, HostTensor(spec.type));
    }
    for (int64_t i = 0; i < ids_.size(); ++i)
      ids_.values<int32_t>()[i] = static_cast<int32_t>((7 * i + 3) % kVocab);
  }
  // Decodes the tokens `ids` at positions `at` after all earlier calls; returns their logits_BTV.
  HostTensor extend(const HostTensor& ids, const HostTensor& at) {
    auto result = model_.call({{"batch/input_ids", ids}, {"batch/input_positions", at}},
                              {.method = "logits", .decoding = true, .state = state_});
    // Segments stay as they are, because no call passes segment ids.
    for (auto& [path, value] : result.state) state_.at(path) = std::move(value);
    return result.outputs[0];
  }
  HostTensor forward(const HostTensor& ids) {
    return model_.call({{"batch/input_ids", ids}}, {.method = "logits"}).outputs[0];
  }
  void expect_logits(const HostTensor& actual, const HostTensor& all, int64_t from) {
    const int64_t n = actual.shape()[1];
    for (int64_t b = 0; b < kBatch; ++b) {
      for (int64_t i = 0; i < n * kVocab; ++i) {
        ASSERT_NEAR(actual.at(b * n * kVocab + i), all.at((b * kLength + from) * kVocab + i), 1e-5)
            << "row " << b << ", token " << from + i / kVocab;
      }
    }
  }

  TestLayer<CausalLM> model_;
  Tree<HostTensor> state_;
  HostTensor ids_ = HostTensor(Type{DType::kI32, {kBatch, kLength}});
};

TEST_P(Decoding, StepByStepEqualsForward) {
  const HostTensor all = forward(ids_);
  for (int64_t t = 0; t < kLength; ++t)
    expect_logits(extend(columns(ids_, t, t + 1), positions(t, t + 1)), all, t);
}

TEST_P(Decoding, PrefillThenStepsEqualForward) {
  const HostTensor all = forward(ids_);
  expect_logits(extend(columns(ids_, 0, 4), positions(0, 4)), all, 0);
  expect_logits(extend(columns(ids_, 4, 6), positions(4, 6)), all, 4);
}

TEST_P(Decoding, RowsMayHaveDifferentPositions) {
  const HostTensor all = forward(ids_);
  // Row 1 is two tokens behind. The cache entries after its position are overwritten before a query
  // sees them.
  extend(columns(ids_, 0, 4), positions(0, 4));
  const HostTensor ids(
      {kBatch, 1}, {static_cast<int32_t>(ids_.at(4)), static_cast<int32_t>(ids_.at(kLength + 2))});
  const HostTensor logits = extend(ids, HostTensor({kBatch, 1}, {4, 2}));
  for (int64_t v = 0; v < kVocab; ++v) {
    EXPECT_NEAR(logits.at(v), all.at(4 * kVocab + v), 1e-5);
    EXPECT_NEAR(logits.at(kVocab + v), all.at((kLength + 2) * kVocab + v), 1e-5);
  }
}

TEST_P(Decoding, NextLogitsFollowLastIndex) {
  const HostTensor all = forward(ids_);
  const auto next = [&](Tree<HostTensor> inputs) {
    inputs.emplace("batch/input_ids", ids_);
    return model_.call(inputs, {.method = "next_logits"}).outputs[0];
  };
  const HostTensor last = next({}),
                   chosen = next({{"batch/last_index", HostTensor({kBatch}, {1, 3})}});
  for (int64_t v = 0; v < kVocab; ++v) {
    EXPECT_NEAR(last.at(v), all.at(5 * kVocab + v), 1e-5);
    EXPECT_NEAR(chosen.at(v), all.at(kVocab + v), 1e-5);
    EXPECT_NEAR(chosen.at(kVocab + v), all.at((kLength + 3) * kVocab + v), 1e-5);
  }
}

/// x -> x of the previous token. Works in training, but declares no decode state.
class ForgetfulShift final : public Mixer {
 public:
  struct Config {
    AXLE_CONFIG(ForgetfulShift)
  };
  ForgetfulShift(const Config&, const Dims&, const Scope& scope) : Mixer(scope) {}

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext&) override {
    const Tensor first = zeros({x_BTD.dim(0), 1, x_BTD.dim(2)});
    return slice_in_dim(concatenate({first, x_BTD}, 1), 1, 0, x_BTD.dim(1));
  }
};
AXLE_REGISTER(ForgetfulShift)

/// Every query sees the first three keys and the keys up to its own position. The mask does not
/// override is_causal().
class SeesPrefix final : public AttentionMask {
 public:
  struct Config {
    AXLE_CONFIG(SeesPrefix)
  };
  SeesPrefix(const Config&, const Dims&, const Scope&) {}
  Tensor operator()(const TokenPositions& at) const override {
    return (at.query_positions >= at.key_positions) | (at.key_positions < 3);
  }
};
AXLE_REGISTER(SeesPrefix)

// If they were not refused, these layers would silently generate other text than the trained model.
TEST(DecodingIsRefused, LayersThatMayReadOtherPositionsCannotDecode) {
  const auto error = [](Child<Mixer> body, const std::string& method) {
    TransformerLayer::Config block = layer(CausalMask::Config{});
    block.attention = PreNorm::Config{.body = std::move(body)};
    TestLayer<CausalLM> lm(model(Repeat::Config{.num_layers = 2, .layer = block}), {});
    const Tree<HostTensor> inputs{{"batch/input_ids", HostTensor::zeros({1, 2}, DType::kI32)}};
    CallOptions options{.method = method};
    EXPECT_NO_THROW(lm.call(inputs, options));
    options.decoding = true;
    return error_of([&] { lm.call(inputs, options); });
  };
  const std::string expected =
      "causal_lm.decoder.layers.layer.attention.body: expected a layer that can decode, got one "
      "that may look at positions outside the call; declare state for them in decode_state_specs, "
      "or let can_decode return true if it looks at its own position only";
  for (const char* method : {"logits", "next_logits"}) {
    EXPECT_EQ(error(ForgetfulShift::Config{}, method), expected);
    EXPECT_EQ(error(Attention::Config{.num_heads = 4, .mask = std::nullopt}, method), expected);
    EXPECT_EQ(error(Attention::Config{.num_heads = 4, .mask = SeesPrefix::Config{}}, method),
              expected);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Layers, Decoding,
    ::testing::Values(
        Child<Block>(Repeat::Config{.num_layers = 2, .layer = layer(CausalMask::Config{})}),
        Child<Block>(Stacked::Config{.num_layers = 2,
                                     .layer = layer(SlidingWindowMask::Config{.window = 2})})));

}  // namespace
}  // namespace axle
