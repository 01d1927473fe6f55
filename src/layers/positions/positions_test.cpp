// Positions added to embedded tokens.
#include "layers/attention/attention.h"
#include "layers/blocks/pre_norm.h"
#include "layers/blocks/stacked.h"
#include "layers/blocks/transformer_layer.h"
#include "layers/feed_forward/feed_forward.h"
#include "layers/models/decoder.h"
#include "layers/positions/inclusive_frequencies.h"
#include "layers/positions/learned_positions.h"
#include "layers/positions/sinusoidal_positions.h"
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

// A decoder without RoPE tells tokens apart by their positions alone.
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

}  // namespace
}  // namespace axle
