#include "layers/attention/attention.h"
#include "layers/attention/biases/distance_biases.h"
#include "layers/attention/biases/logit_bias.h"
#include "layers/blocks/norm_placements.h"
#include "layers/blocks/stack.h"
#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::build_for_test;
using testing::normal_values;

constexpr LogitBias::Dims kBiasesDims{.num_heads = 2};
const T5Bias::Config kSmall{.num_buckets = 4, .max_distance = 3};
const SumOfBiases::Config kSum{.biases = {ALiBi::Config{}, kSmall}};

AXLE_CALL_LAWS(T5Bias, kBiasesDims,
               {{"default", {}},
                {"bidirectional", {.num_buckets = 4, .max_distance = 2, .bidirectional = true}}})
AXLE_CALL_LAWS(SumOfBiases, kBiasesDims, {{"alibi_and_t5", kSum}})
AXLE_CALL_LAWS(SharedBias, kBiasesDims, {{"t5", {.inner = kSmall}}})

// The bucket of key position - query position, as Raffel et al. publish it.
int64_t published_bucket(int64_t distance, int64_t count, int64_t max_distance,
                         bool bidirectional) {
  int64_t bucket = 0, n = -distance;
  if (bidirectional) {
    count /= 2;
    if (n < 0) bucket = count;
    n = std::abs(n);
  } else {
    n = std::max<int64_t>(n, 0);
  }
  const int64_t exact = count / 2;
  if (n < exact) return bucket + n;
  const float ratio = std::log(static_cast<float>(n) / static_cast<float>(exact)) /
                      std::log(static_cast<float>(max_distance) / static_cast<float>(exact));
  const auto beyond = static_cast<int64_t>(ratio * static_cast<float>(count - exact));
  return bucket + std::min(exact + beyond, count - 1);
}

TEST(T5Bias, PutsDistancesIntoThePublishedBuckets) {
  for (const T5Bias::Config& cfg :
       {T5Bias::Config{}, T5Bias::Config{.bidirectional = true},
        T5Bias::Config{.num_buckets = 64, .max_distance = 256, .bidirectional = true},
        T5Bias::Config{.num_buckets = 8, .max_distance = 20}}) {
    auto bias = build_for_test<T5Bias>(cfg, {.num_heads = 1});
    HostTensor weight(Type{DType::kF32, {cfg.num_buckets, 1}});
    for (int64_t i = 0; i < cfg.num_buckets; ++i) weight.values<float>()[i] = static_cast<float>(i);
    bias.set("weight", weight);
    constexpr int32_t kFar = 300;
    HostTensor keys(Type{DType::kI32, {1, 2 * kFar + 1}});
    for (size_t i = 0; i <= size_t{2} * kFar; ++i)
      keys.values<int32_t>()[i] = static_cast<int32_t>(i);
    const HostTensor y = bias.call({{"positions/query_positions", HostTensor({1, 1}, {kFar})},
                                    {"positions/key_positions", keys}})
                             .outputs[0];
    ASSERT_EQ(y.shape(), (Shape{1, 1, 2 * kFar + 1}));
    for (int64_t s = 0; s <= 2 * kFar; ++s) {
      ASSERT_EQ(y.at(s),
                published_bucket(s - kFar, cfg.num_buckets, cfg.max_distance, cfg.bidirectional))
          << "distance " << s - kFar << " of " << int64_t{cfg.num_buckets};
    }
  }
}

TEST(T5Bias, HasABiasForEachHeadAndRow) {
  auto bias = build_for_test<T5Bias>(kSmall, kBiasesDims);
  bias.set("weight", HostTensor({4, 2}, {0.f, 10.f, 1.f, 11.f, 2.f, 12.f, 3.f, 13.f}));
  // Two rows with one query and two keys; the last key is an empty entry.
  const HostTensor y =
      bias.call({{"positions/query_positions", HostTensor({2, 1, 1}, {2, 4})},
                 {"positions/key_positions", HostTensor({2, 1, 2}, {1, 2, 2, kNoPosition})}})
          .outputs[0];
  EXPECT_EQ(y, HostTensor({2, 2, 1, 2}, {1.f, 0.f, 11.f, 10.f, 2.f, 0.f, 12.f, 10.f}));
}

TEST(T5Bias, RefusesBucketsThatAreEmpty) {
  EXPECT_ERROR(build_for_test<T5Bias>({.num_buckets = 2, .bidirectional = true}, kBiasesDims),
               "t5_bias.num_buckets: expected an even number of at least 4, got 2");
  EXPECT_ERROR(build_for_test<T5Bias>({.num_buckets = 7, .bidirectional = true}, kBiasesDims),
               "t5_bias.num_buckets: expected an even number of at least 4, got 7");
  EXPECT_ERROR(build_for_test<T5Bias>({.max_distance = 16}, kBiasesDims),
               "t5_bias.max_distance: expected more than 16, the number of buckets of one distance "
               "on a side, got 16");
}

TEST(SumOfBiases, AddsThem) {
  auto sum = build_for_test<SumOfBiases>(kSum, kBiasesDims);
  auto alibi = build_for_test<ALiBi>({}, kBiasesDims);
  auto t5 = build_for_test<T5Bias>(kSmall, kBiasesDims);
  t5.set("weight", sum.parameter("bias1/weight"));
  const auto in = testing::LawInputs<LogitBias>::make(kBiasesDims);
  const HostTensor y = sum.call(in).outputs[0], a = alibi.call(in).outputs[0],
                   b = t5.call(in).outputs[0];
  for (int64_t i = 0; i < y.size(); ++i) EXPECT_FLOAT_EQ(y.at(i), a.at(i) + b.at(i));
}

TEST(SumOfBiases, EmptySumIsRefused) {
  EXPECT_ERROR(build_for_test<SumOfBiases>({}, kBiasesDims),
               "sum_of_biases.biases: expected at least one bias, got none; leave the bias of "
               "attention out if nothing is added");
}

// Whole layers.

constexpr MixerDims kMixer{.model_dim = 8};
Attention::Config attention(Child<LogitBias> bias) {
  return {.num_heads = 2, .bias = std::move(bias), .core = SoftmaxAttention::Config{.scale = 1}};
}
Child<Block> block(Child<LogitBias> bias) {
  return PreNorm::Config{.body = attention(std::move(bias))};
}

AXLE_LAYER_LAWS(Attention, kMixer,
                {{"t5_bias", attention(kSmall)},
                 {"alibi", attention(ALiBi::Config{})},
                 {"sum_of_biases", attention(kSum)}})

// One layer owns the bias, as in T5.
const Stacked::Config kT5{
    .num_layers = 2,
    .layers = {block(SharedBias::Config{.inner = kSmall}),
               Repeat::Config{.num_layers = 2, .layer = block(BorrowedBias::Config{})}}};
AXLE_LAYER_LAWS(Stacked, kMixer, {{"t5_bias_of_the_first_layer", kT5}})

TEST(BorrowedBias, MatchesTheBiasOfTheFirstLayer) {
  const Child<LogitBias> borrowed = BorrowedBias::Config{};
  auto shared = build_for_test<Stacked>(
      {.num_layers = 2, .layers = {block(SharedBias::Config{.inner = kSmall}), block(borrowed)}},
      kMixer);
  auto own =
      build_for_test<Stacked>({.num_layers = 2, .layers = {block(kSmall), block(kSmall)}}, kMixer);
  int64_t num_borrowed = 0;
  for (const auto& [path, value] : own.parameters()) {
    const std::string below = path.substr(std::string("stacked/").size());
    const size_t bias = below.find("core/bias") == std::string::npos ? below.find("bias/weight")
                                                                     : std::string::npos;
    if (bias == std::string::npos) {
      own.set(below, shared.parameter(below));
    } else {
      own.set(below, shared.parameter("layer0/body/bias/inner/weight"));
      ++num_borrowed;
    }
  }
  EXPECT_EQ(num_borrowed, 2);
  const HostTensor x = normal_values({2, 4, 8}, 3);
  EXPECT_ALLCLOSE(shared.run(x), own.run(x));
}

TEST(BorrowedBias, NeedsAnOwner) {
  EXPECT_ERROR(build_for_test<Attention>(attention(BorrowedBias::Config{}), kMixer)
                   .run(normal_values({1, 2, 8}, 1)),
               "attention.bias: expected a value published as 'bias', got none; a layer that "
               "publishes it must be called before this one");
}

// Press et al. add slope * key position under a causal mask: the rows differ by a constant, which
// softmax takes out. Without the mask, the distance counts on both sides.
TEST(ALiBi, UnderACausalMaskCountsFromTheBeginning) {
  auto core = build_for_test<SoftmaxAttention>({.scale = 1}, {.num_heads = 2, .head_dim = 2});
  const auto probabilities_with = [&](auto bias_of) {
    HostTensor bias(Type{DType::kF32, {2, 3, 3}}), visible(Type{DType::kPred, {3, 3}});
    for (int64_t i = 0; i < 18; ++i)
      bias.values<float>()[i] =
          static_cast<float>(ALiBi::slopes(2)[i / 9] * bias_of(i / 3 % 3, i % 3));
    for (int64_t i = 0; i < 9; ++i) visible.values<bool>()[i] = i % 3 <= i / 3;
    return core
        .call({{"query", normal_values({1, 3, 2, 2}, 1)},
               {"keys/key", normal_values({1, 3, 2, 2}, 2)},
               {"keys/value", normal_values({1, 3, 2, 2}, 3)},
               {"visibility/positions/query_positions", HostTensor({3, 1}, {0, 1, 2})},
               {"visibility/positions/key_positions", HostTensor({1, 3}, {0, 1, 2})},
               {"visibility/visible", visible},
               {"visibility/bias", bias}})
        .outputs[0];
  };
  EXPECT_ALLCLOSE(probabilities_with(
                      [](int64_t t, int64_t s) { return -static_cast<double>(std::abs(t - s)); }),
                  probabilities_with([](int64_t, int64_t s) { return static_cast<double>(s); }),
                  1e-6);
}

}  // namespace
}  // namespace axle
