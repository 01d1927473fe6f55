// Positions added to embedded tokens.
#include "layers/attention/attention.h"
#include "layers/attention/latent_attention.h"
#include "layers/attention/qkv/rope.h"
#include "layers/blocks/norm_placements.h"
#include "layers/blocks/stack.h"
#include "layers/feed_forward/feed_forward.h"
#include "layers/models/causal_lm.h"
#include "layers/positions/frequencies.h"
#include "layers/positions/position_embedding.h"
#include "nn/remat_policies.h"
#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::build_for_test;
using testing::normal_values;

constexpr PositionEmbedding::Dims kPositionsDims{.model_dim = 4, .max_seq_len = 6};
AXLE_LAYER_LAWS(LearnedPositions, kPositionsDims,
                {{"default", {}}, {"longer_table", {.num_positions = 9}}})
AXLE_LAYER_LAWS(
    SinusoidalPositions, kPositionsDims,
    {{"neighbours", {}},
     {"halves",
      {.theta = 100, .frequencies = InclusiveFrequencies{}, .pairs = PairLayout::kHalves}}})

Decoder::Config decoder(Child<PositionEmbedding> positions) {
  return {.model_dim = 8,
          .vocab_size = 5,
          .max_seq_len = 6,
          .position_emb = std::move(positions),
          .layers = Stacked::Config{
              .num_layers = 1,
              .layer = TransformerLayer::Config{
                  .attention = PreNorm::Config{.body = Attention::Config{.num_heads = 2}},
                  .feed_forward = PreNorm::Config{.body = FeedForward::Config{}}}}};
}
AXLE_LAYER_LAWS(Decoder, {},
                {{"learned_positions", decoder(LearnedPositions::Config{})},
                 {"sinusoidal_positions", decoder(SinusoidalPositions::Config{})}})

TEST(LearnedPositions, AddTheRowOfEachPosition) {
  auto layer = build_for_test<LearnedPositions>({}, {.model_dim = 2, .max_seq_len = 3});
  layer.set("weight", HostTensor({3, 2}, {1.f, 2.f, 10.f, 20.f, 100.f, 200.f}));
  const HostTensor x = HostTensor({1, 2, 2}, {0.f, 0.f, 1.f, 1.f});
  EXPECT_EQ(layer.run(x), HostTensor({1, 2, 2}, {1.f, 2.f, 11.f, 21.f}));
  EXPECT_EQ(layer.call({{"x", x}, {"positions", HostTensor({1, 2}, {2, 0})}}).outputs[0],
            HostTensor({1, 2, 2}, {100.f, 200.f, 2.f, 3.f}));
  EXPECT_EQ(layer.call({{"x", x}, {"positions", HostTensor({1, 2}, {7, 1})}}).outputs[0],
            HostTensor({1, 2, 2}, {100.f, 200.f, 11.f, 21.f}))
      << "positions outside the table";
}

TEST(LearnedPositions, HaveAPlaceForEachToken) {
  EXPECT_ERROR(
      build_for_test<LearnedPositions>({}, kPositionsDims).run(normal_values({1, 7, 4}, 1)),
      "learned_positions: expected at most num_positions = 6 positions, got 7");
  EXPECT_ERROR(build_for_test<LearnedPositions>({.num_positions = 5}, kPositionsDims),
               "learned_positions.num_positions: must be at least max_seq_len = 6 of the decoder, "
               "got 5");
  EXPECT_ERROR(build_for_test<LearnedPositions>({}, {.model_dim = 4, .max_seq_len = {}}),
               "learned_positions: expected a decoder with max_seq_len, got none; texts must not "
               "become longer than the table of positions");
  EXPECT_ERROR(build_for_test<LearnedPositions>({.num_positions = 0}, kPositionsDims),
               "learned_positions.num_positions: expected an integer from 1 to 2147483647, got 0");
}

// Position 3 of a vector of 4, with the base 100.
TEST(SinusoidalPositions, AreSinesAndCosines) {
  const auto of = [](const SinusoidalPositions::Config& cfg) {
    return build_for_test<SinusoidalPositions>(cfg, kPositionsDims)
        .call({{"x", HostTensor::zeros({1, 1, 4})}, {"positions", HostTensor({1, 1}, {3})}})
        .outputs[0];
  };
  const auto expect = [](const HostTensor& y, const std::vector<double>& expected) {
    for (size_t i = 0; i < 4; ++i)
      EXPECT_NEAR(y.at(static_cast<int64_t>(i)), expected[i], 1e-6) << i;
  };
  expect(of({.theta = 100}), {std::sin(3.0), std::cos(3.0), std::sin(0.3), std::cos(0.3)});
  expect(of({.theta = 100, .pairs = PairLayout::kHalves}),
         {std::sin(3.0), std::sin(0.3), std::cos(3.0), std::cos(0.3)});
  expect(of({.theta = 100, .frequencies = InclusiveFrequencies{}, .pairs = PairLayout::kHalves}),
         {std::sin(3.0), std::sin(0.03), std::cos(3.0), std::cos(0.03)});
}

TEST(SinusoidalPositions, NeedAnEvenModelDim) {
  EXPECT_ERROR(build_for_test<SinusoidalPositions>({}, {.model_dim = 5, .max_seq_len = {}}),
               "sinusoidal_positions.model_dim: must be even, got 5");
}

// A decoder without RoPE distinguishes tokens by their positions alone.
TEST(Decoder, AddsPositionsToTokens) {
  auto layer = build_for_test<Decoder>(decoder(LearnedPositions::Config{}), {});
  const HostTensor ids({1, 2}, {3, 3});
  const auto at = [&](std::vector<int32_t> positions) {
    return layer
        .call({{"ids", ids},
               {"context/positions", HostTensor({1, 2}, std::span<const int32_t>(positions))}})
        .outputs[0];
  };
  EXPECT_ALLCLOSE(layer.run(ids), at({0, 1}));
  EXPECT_GT(testing::largest_difference(at({0, 1}), at({0, 2})), 1e-3);
}

// Texts in one row, where frequencies depend on the length: each has those that it has alone.

const DividedFrequencies kLongFrom4{
    .divisors = std::vector<Positive<double>>{1, 2}, .long_divisors = {4, 8}, .original_len = 4};
const DynamicFrequencies kGrownFrom4{.factor = 3, .original_len = 4};

// Three texts in the first row, with padding between and behind them, and one in the other.
const HostTensor kTexts({2, 12},
                        {1, 1, 1, 2, 2, 2, 2, 2, 2, 0, 3, 3, 4, 4, 4, 4, 4, 0, 0, 0, 0, 0, 0, 0});
const HostTensor kPlaces({2, 12},
                         {0, 1, 2, 0, 1, 2, 3, 4, 5, 9, 0, 1, 0, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0});

struct Text {
  int64_t row, from, size;
};
const std::vector<Text> kEachText = {{0, 0, 3}, {0, 3, 6}, {0, 10, 2}, {1, 0, 5}};

// The tokens of one text of x[2, 12, ..], as the only row.
HostTensor of_text(const HostTensor& x, const Text& text) {
  const HostTensor both = testing::detail::tokens_from(x, {text.from, text.from}, text.size);
  Shape shape = both.shape();
  shape[0] = 1;
  HostTensor out(Type{x.dtype(), shape});
  const size_t bytes = out.bytes().size();
  std::ranges::copy(both.bytes().subspan(static_cast<size_t>(text.row) * bytes, bytes),
                    out.bytes().begin());
  return out;
}

template <class L>
void expect_texts_apart(const typename L::Config& cfg, const typename L::Role::Dims& dims,
                        const std::string& name, const HostTensor& x, const std::string& context) {
  auto layer = build_for_test<L>(cfg, dims);
  const std::vector<HostTensor> together =
      layer.call({{name, x}, {context + "positions", kPlaces}, {context + "segment_ids", kTexts}})
          .outputs;
  for (const Text& text : kEachText) {
    const std::vector<HostTensor> alone =
        layer.call({{name, of_text(x, text)}, {context + "positions", of_text(kPlaces, text)}})
            .outputs;
    for (size_t i = 0; i < alone.size(); ++i)
      EXPECT_ALLCLOSE(of_text(together[i], text), alone[i], 1e-5);
  }
}

TEST(Positions, EachTextInARowHasItsOwnPositions) {
  const HostTensor x = normal_values({2, 12, 8}, 3);
  for (const FrequencyFn& frequencies : {FrequencyFn(kLongFrom4), FrequencyFn(kGrownFrom4)}) {
    const RoPE::Config rope{.theta = 100, .frequencies = frequencies};
    expect_texts_apart<RoPE>(
        rope, {.model_dim = 8, .num_heads = 2, .num_kv_heads = 2, .head_dim = 4}, "x", x, "");
    expect_texts_apart<Attention>({.num_heads = 2, .qkv = rope}, {.model_dim = 8}, "x", x,
                                  "context/");
    expect_texts_apart<LatentAttention>({.num_heads = 2,
                                         .kv_rank = 5,
                                         .nope_dim = 3,
                                         .rope_dim = 4,
                                         .value_dim = 4,
                                         .theta = 100,
                                         .frequencies = frequencies},
                                        {.model_dim = 8}, "x", x, "context/");
    expect_texts_apart<SinusoidalPositions>({.theta = 100, .frequencies = frequencies},
                                            {.model_dim = 4, .max_seq_len = {}}, "x",
                                            normal_values({2, 12, 4}, 3), "");
  }
}

// The largest position of a text need not be its last one, and each stream has its own.
TEST(Positions, MayBeOutOfOrder) {
  const SinusoidalPositions::Config cfg{.theta = 100, .frequencies = kLongFrom4};
  auto layer = build_for_test<SinusoidalPositions>(cfg, {.model_dim = 4, .max_seq_len = {}});
  const HostTensor zeros = HostTensor::zeros({1, 6, 4});
  const HostTensor got = layer
                             .call({{"x", zeros},
                                    {"positions", HostTensor({1, 6}, {1, 5, 2, 1, 3, 2})},
                                    {"segment_ids", HostTensor({1, 6}, {1, 1, 1, 2, 2, 2})}})
                             .outputs[0];
  const double angles[] = {0.25, 1.25, 0.5, 1, 3, 2};
  for (int64_t i = 0; i < 6; ++i) EXPECT_NEAR(got.at(4 * i), std::sin(angles[i]), 1e-6) << i;

  auto rope = build_for_test<RoPE>(
      {.theta = 100, .frequencies = kLongFrom4, .streams = PositionStreams{.sections = {1, 1}}},
      {.model_dim = 4, .num_heads = 1, .num_kv_heads = 1, .head_dim = 4});
  const HostTensor x = normal_values({1, 4, 4}, 3);
  const auto together =
      rope.call({{"x", x},
                 {"segment_ids", HostTensor({1, 4}, {1, 1, 2, 2})},
                 {"published/position_streams", HostTensor({2, 1, 4}, {0, 9, 0, 1, 0, 1, 7, 0})}})
          .outputs;
  const auto tokens = [](const HostTensor& all, int64_t from) {
    return testing::detail::tokens_from(all, {from}, 2);
  };
  for (const int64_t from : {0, 2}) {
    const HostTensor streams =
        from == 0 ? HostTensor({2, 1, 2}, {0, 9, 0, 1}) : HostTensor({2, 1, 2}, {0, 1, 7, 0});
    const auto alone =
        rope.call({{"x", tokens(x, from)}, {"published/position_streams", streams}}).outputs;
    for (size_t i = 0; i < alone.size(); ++i)
      EXPECT_ALLCLOSE(tokens(together[i], from), alone[i], 1e-6);
  }
}

// In training, through a loop over layers that are computed again for their gradients.
TEST(Positions, TextsInOneRowHaveTheirOwnLossAndGradients) {
  for (const FrequencyFn& frequencies : {FrequencyFn(kLongFrom4), FrequencyFn(kGrownFrom4)}) {
    const Child<Block> block(PreNorm::Config{
        .body = {Attention::Config{.num_heads = 2,
                                   .qkv = RoPE::Config{.theta = 100, .frequencies = frequencies}},
                 {.remat = SaveNothing{}}}});
    auto model = build_for_test<CausalLM>(
        {.decoder = Decoder::Config{.model_dim = 8,
                                    .vocab_size = 5,
                                    .layers = Repeat::Config{.num_layers = 2, .layer = block}}},
        {});
    HostTensor ids(Type{DType::kI32, {2, 12}}), labels(Type{DType::kI32, {2, 12}});
    for (size_t i = 0; i < 24; ++i) {
      ids.values<int32_t>()[i] = static_cast<int32_t>(i * i % 5);
      const bool is_padding = kTexts.at(static_cast<int64_t>(i)) == 0;
      labels.values<int32_t>()[i] = is_padding ? -1 : static_cast<int32_t>((3 * i + 1) % 5);
    }
    // The loss times its number of labels, and its gradients.
    const auto sums_of = [&](const Tree<HostTensor>& batch, int64_t num_labels) {
      const testing::LayerFunction fn = model.function(batch, {.training = true});
      const std::vector<HostTensor> outputs = eval(fn, fn.arguments());
      std::vector<HostTensor> cotangents;
      for (const HostTensor& one : outputs) {
        const double weight = cotangents.empty() ? static_cast<double>(num_labels) : 0;
        cotangents.push_back(HostTensor::full(one.shape(), weight));
      }
      std::vector<HostTensor> out =
          eval(testing::gradient_function(fn, cotangents), fn.arguments());
      out.push_back(HostTensor::scalar(
          static_cast<float>(static_cast<double>(num_labels) * outputs[0].at(0))));
      return out;
    };
    const auto batch_of = [&](const auto& part) {
      return Tree<HostTensor>{{"batch/input_ids", part(ids)},
                              {"batch/target_labels", part(labels)},
                              {"batch/input_positions", part(kPlaces)},
                              {"batch/input_segment_ids", part(kTexts)}};
    };
    const auto together = sums_of(batch_of([](const HostTensor& all) { return all; }), 16);
    std::vector<std::vector<double>> sums(together.size());
    for (const Text& text : kEachText) {
      const auto alone =
          sums_of(batch_of([&](const HostTensor& all) { return of_text(all, text); }), text.size);
      ASSERT_EQ(alone.size(), together.size());
      for (size_t i = 0; i < sums.size(); ++i) {
        sums[i].resize(alone[i].size());
        for (int64_t j = 0; j < alone[i].size(); ++j) sums[i][j] += alone[i].at(j);
      }
    }
    for (size_t i = 0; i < sums.size(); ++i) {
      for (int64_t j = 0; j < together[i].size(); ++j)
        EXPECT_NEAR(together[i].at(j), sums[i][j], 1e-4) << i << ", " << j;
    }
  }
}

}  // namespace
}  // namespace axle
