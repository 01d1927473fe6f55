#include "layers/attention/qkv/rope.h"

#include <gmock/gmock.h>

#include "config/missing.h"
#include "config/print.h"
#include "config/set.h"
#include "layers/attention/attention.h"
#include "layers/attention/caches/dense_kv_caches.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/blocks/norm_placements.h"
#include "layers/blocks/stack.h"
#include "layers/mixer.h"
#include "layers/positions/frequencies.h"
#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::build_for_test;
using testing::normal_values;

constexpr QKV::Dims kRopeDims{.model_dim = 8, .num_heads = 2, .num_kv_heads = 2, .head_dim = 4};
constexpr QKV::Dims kOneHead{.model_dim = 8, .num_heads = 1, .num_kv_heads = 1, .head_dim = 8};

const LinearFrequencies kLinear{.factor = 2};
const NTKFrequencies kNTK{.factor = 2};
const Llama3Frequencies kLlama3{.factor = 8, .original_len = 16};
const YaRNFrequencies kYaRN{.factor = 4, .original_len = 16, .beta_fast = 3};

AXLE_LAYER_LAWS(RoPE, kRopeDims,
                {{"fused", {.theta = 100}},
                 {"linear", {.theta = 100, .frequencies = kLinear}},
                 {"ntk", {.theta = 100, .frequencies = kNTK}},
                 {"llama3", {.theta = 100, .frequencies = kLlama3}},
                 {"yarn", {.theta = 100, .frequencies = kYaRN}},
                 {"halves", {.theta = 100, .pairs = PairLayout::kHalves}},
                 {"half_of_each_head", {.theta = 100, .fraction = 0.5}},
                 {"values", {.theta = 100, .rotate_values = true}}})

// Decoding of each with a cache of keys, which are stored rotated.
TEST(RoPE, DecodingWithCachedKeysMatchesTheWholePass) {
  using Case = testing::LawCase<Attention>;
  std::vector<Case> cases;
  const auto add = [&](std::string name, RoPE::Config rope) {
    cases.push_back({std::move(name), {.num_heads = 2, .qkv = std::move(rope)}});
  };
  add("plain", {});
  add("linear", {.frequencies = kLinear});
  add("ntk", {.frequencies = kNTK});
  add("llama3", {.frequencies = kLlama3});
  add("yarn", {.frequencies = kYaRN});
  add("halves", {.pairs = PairLayout::kHalves});
  add("half_of_each_head", {.fraction = 0.5});
  add("streams", {.streams = PositionStreams{.sections = {1, 1}}});
  add("values", {.rotate_values = true});
  testing::detail::law_decoding<Attention>({.model_dim = 8}, cases);
}

// Keys computed from the result of another layer, and keys borrowed from another layer.
TEST(RoPE, DecodingWithKeysOfOtherLayersMatchesTheWholePass) {
  const auto rope = [](Child<QKV> inner) {
    return RoPE::Config{
        .frequencies = kYaRN, .pairs = PairLayout::kHalves, .inner = std::move(inner)};
  };
  const auto block = [](Attention::Config attention) -> Child<Block> {
    attention.num_heads = 2;
    return PreNorm::Config{.body = std::move(attention)};
  };
  const auto stack = [](Child<Block> first, Child<Block> second) {
    return Stacked::Config{.num_layers = 2, .layers = {std::move(first), std::move(second)}};
  };
  const std::vector<testing::LawCase<Stacked>> cases = {
      {"source", stack(Published::Config{.body = block({.qkv = rope(FusedQKV::Config{})})},
                       block({.qkv = rope(SourceQKV::Config{.same_tokens = true})}))},
      {"queries alone",
       stack(block({.qkv = rope(FusedQKV::Config{}), .kv_cache = SharedKVCache::Config{}}),
             block({.qkv = rope(QueryOnly::Config{}), .kv_cache = BorrowedKVCache::Config{}}))}};
  testing::detail::law_decoding<Stacked>({.model_dim = 8}, cases);
}

// Returns what `inner` of the layer computes: the heads before they are rotated.
template <class Inner>
std::vector<HostTensor> heads_before(const testing::TestLayer<RoPE>& rope, const QKV::Dims& dims,
                                     const Tree<HostTensor>& inputs) {
  auto plain = build_for_test<Inner>({}, dims);
  for (const auto& [path, value] : rope.parameters())
    plain.set(path.substr(std::string("ro_pe/inner/").size()), value);
  return plain.call(inputs).outputs;
}

struct Pair {
  int64_t first, second;  // indices in the head
  double angle;
};
// Expects that the pairs of one head are rotated, and that the other elements are as before.
void expect_turned(const HostTensor& before, const HostTensor& after, int64_t head_at,
                   const std::vector<Pair>& pairs, int64_t head_dim, double scale = 1) {
  std::vector<double> expected;
  for (int64_t i = 0; i < head_dim; ++i) expected.push_back(before.at(head_at + i));
  for (const auto& [i, j, angle] : pairs) {
    const double a = before.at(head_at + i), b = before.at(head_at + j);
    expected[i] = scale * (a * std::cos(angle) - b * std::sin(angle));
    expected[j] = scale * (b * std::cos(angle) + a * std::sin(angle));
  }
  for (int64_t i = 0; i < head_dim; ++i)
    EXPECT_NEAR(after.at(head_at + i), expected[i], 1e-6) << "element " << i;
}

// The angle of pair i of a head at one position, with theta = 100 and plain frequencies.
double angle(double position, double pair, double dim) {
  return position * std::pow(100.0, -2 * pair / dim);
}

struct Turned {
  std::vector<HostTensor> before, after;
};
// One token at position 3, one head of 8.
Turned turn_one(const RoPE::Config& cfg) {
  auto rope = build_for_test<RoPE>(cfg, kOneHead);
  const Tree<HostTensor> in{{"x", normal_values({1, 1, 8}, 3)},
                            {"positions", HostTensor({1, 1}, {3})}};
  return {heads_before<FusedQKV>(rope, kOneHead, in), rope.call(in).outputs};
}

TEST(RoPE, RotatesPairsByPositionTimesFrequency) {
  const auto [before, after] = turn_one({.theta = 100});
  for (size_t i = 0; i < 2; ++i) {
    expect_turned(before[i], after[i], 0,
                  {{0, 1, angle(3, 0, 8)},
                   {2, 3, angle(3, 1, 8)},
                   {4, 5, angle(3, 2, 8)},
                   {6, 7, angle(3, 3, 8)}},
                  8);
  }
  EXPECT_EQ(after[2], before[2]) << "values are not turned";
}

TEST(RoPE, HalvesLayoutPairsElementsOfBothHalves) {
  const auto [before, after] = turn_one({.theta = 100, .pairs = PairLayout::kHalves});
  expect_turned(before[0], after[0], 0,
                {{0, 4, angle(3, 0, 8)},
                 {1, 5, angle(3, 1, 8)},
                 {2, 6, angle(3, 2, 8)},
                 {3, 7, angle(3, 3, 8)}},
                8);
}

TEST(RoPE, PartialRotationHasItsOwnWavelengths) {
  const auto [before, after] =
      turn_one({.theta = 100, .pairs = PairLayout::kHalves, .fraction = 0.5});
  expect_turned(before[1], after[1], 0, {{0, 2, angle(3, 0, 4)}, {1, 3, angle(3, 1, 4)}}, 8);
}

TEST(RoPE, ValuesMayRotateLikeKeys) {
  const auto [before, after] = turn_one({.theta = 100, .fraction = 0.25, .rotate_values = true});
  for (size_t i = 0; i < 3; ++i) expect_turned(before[i], after[i], 0, {{0, 1, 3.0}}, 8);
}

TEST(RoPE, YaRNScalesTheRotatedElements) {
  const auto [before, after] = turn_one(
      {.theta = 100,
       .frequencies = YaRNFrequencies{.factor = 4, .original_len = 1 << 20, .attention_factor = 2},
       .fraction = 0.5});
  expect_turned(before[0], after[0], 0, {{0, 1, angle(3, 0, 4)}, {2, 3, angle(3, 1, 4)}}, 8, 2);
}

TEST(RoPE, SectionsUseTheirOwnStreams) {
  auto rope = build_for_test<RoPE>(
      {.theta = 100, .streams = PositionStreams{.sections = {1, 2, 1}}}, kOneHead);
  const HostTensor x = normal_values({1, 2, 8}, 3);
  const auto before = heads_before<FusedQKV>(rope, kOneHead, {{"x", x}});
  const auto after =
      rope.call({{"x", x},
                 {"published/position_streams", HostTensor({3, 1, 2}, {5, 6, 7, 8, 9, 10})}})
          .outputs;
  for (int64_t t = 0; t < 2; ++t) {
    const auto token = static_cast<double>(t);
    expect_turned(before[1], after[1], t * 8,
                  {{0, 1, angle(5 + token, 0, 8)},
                   {2, 3, angle(7 + token, 1, 8)},
                   {4, 5, angle(7 + token, 2, 8)},
                   {6, 7, angle(9 + token, 3, 8)}},
                  8);
  }
}

TEST(RoPE, SectionsAreOneStreamForText) {
  auto streams = build_for_test<RoPE>(
           {.theta = 100, .streams = PositionStreams{.sections = {1, 2, 1}}}, kOneHead),
       plain = build_for_test<RoPE>({.theta = 100}, kOneHead);
  const HostTensor x = normal_values({2, 3, 8}, 3);
  const auto expected = plain.call({{"x", x}}).outputs;
  EXPECT_EQ(streams.call({{"x", x}}).outputs, expected);
  HostTensor same(Type{DType::kI32, {3, 2, 3}});
  for (size_t i = 0; i < 18; ++i) same.values<int32_t>()[i] = static_cast<int32_t>(i % 3);
  EXPECT_EQ(streams.call({{"x", x}, {"published/position_streams", same}}).outputs, expected);
}

// Keys of a source have their positions in the source, queries at the given positions.
TEST(RoPE, RotatesKeysOfASourceByTheirOwnPositions) {
  auto rope =
      build_for_test<RoPE>({.theta = 100, .inner = SourceQKV::Config{}},
                           {.model_dim = 8, .num_heads = 1, .num_kv_heads = 1, .head_dim = 2});
  const Tree<HostTensor> in{{"x", normal_values({1, 1, 8}, 3)},
                            {"positions", HostTensor({1, 1}, {7})},
                            {"published/source", normal_values({1, 3, 8}, 4)}};
  const auto before = heads_before<SourceQKV>(
      rope, {.model_dim = 8, .num_heads = 1, .num_kv_heads = 1, .head_dim = 2}, in);
  const auto after = rope.call(in).outputs;
  expect_turned(before[0], after[0], 0, {{0, 1, 7.0}}, 2);
  for (int64_t s = 0; s < 3; ++s)
    expect_turned(before[1], after[1], 2 * s, {{0, 1, static_cast<double>(s)}}, 2);
}

TEST(RoPE, AttentionDependsOnlyOnDistances) {
  auto layer = build_for_test<Attention>(
      {.num_heads = 2, .qkv = RoPE::Config{.theta = 100, .frequencies = kYaRN}}, {.model_dim = 8});
  const HostTensor x = normal_values({1, 3, 8}, 3);
  const auto at = [&](int32_t start) {
    return layer
        .call({{"x", x}, {"context/positions", HostTensor({1, 3}, {start, start + 1, start + 2})}})
        .outputs[0];
  };
  EXPECT_ALLCLOSE(at(0), at(50), 1e-5);
}

// Mistakes.

TEST(RoPE, HeadDimMustBeEven) {
  EXPECT_ERROR(
      build_for_test<RoPE>({}, {.model_dim = 6, .num_heads = 2, .num_kv_heads = 2, .head_dim = 3}),
      "ro_pe.head_dim: must be even, got 3");
}

TEST(RoPE, NumberOfRotatedElementsMustBeEven) {
  for (const auto& [fraction, product] :
       {std::pair{0.375, "3"}, std::pair{0.3, "2.4"}, std::pair{1e-9, "8e-09"}}) {
    EXPECT_ERROR(build_for_test<RoPE>({.fraction = fraction}, kOneHead),
                 fmt::format("ro_pe.fraction: expected an even number of elements of the 8 of a "
                             "head, got {} * 8 = {}",
                             fraction, product));
  }
  EXPECT_ERROR(build_for_test<RoPE>({.fraction = 0}, kOneHead),
               "ro_pe.fraction: expected a number above 0 and of at most 1, got 0.0");
}

TEST(RoPE, SectionsSumToTheNumberOfPairs) {
  EXPECT_ERROR(build_for_test<RoPE>({.streams = PositionStreams{.sections = {1, 2}}}, kOneHead),
               "ro_pe.streams.sections: expected a sum of 4, the number of pairs, got 3");
  EXPECT_ERROR(build_for_test<RoPE>({.streams = PositionStreams{.sections = {4, 0}}}, kOneHead),
               "ro_pe.streams.sections[1]: expected an integer of at least 1, got 0");
}

TEST(RoPE, NumberOfStreamsMustMatch) {
  EXPECT_ERROR(
      build_for_test<RoPE>({.streams = PositionStreams{.sections = {2, 2}}}, kOneHead)
          .call({{"x", normal_values({1, 2, 8}, 3)},
                 {"published/position_streams", HostTensor({3, 1, 2}, {1, 2, 3, 4, 5, 6})}}),
      "ro_pe: expected 'position_streams' to be i32[2, 1, 2], one stream for each of "
      "streams.sections, got i32[3, 1, 2]; name as many in input.position_streams");
}

TEST(RoPE, StreamsMustBePublishedInTraining) {
  auto rope = build_for_test<RoPE>({.streams = PositionStreams{.sections = {1, 3}}}, kOneHead);
  const HostTensor x = normal_values({1, 2, 8}, 3);
  EXPECT_ERROR(
      rope.call({{"x", x}}, {.training = true}),
      "ro_pe.streams: expected 'position_streams' to be published in training, got "
      "nothing; set input.position_streams, which publishes 'position_streams', or no streams "
      "for a model of text alone");
  const HostTensor streams({2, 1, 2}, {1, 2, 3, 4});
  EXPECT_EQ(
      rope.call({{"x", x}, {"published/position_streams", streams}}, {.training = true}).outputs,
      rope.call({{"x", x}, {"published/position_streams", streams}}).outputs);
}

TEST(RoPE, FrequenciesCheckTheirFields) {
  EXPECT_ERROR(build_for_test<RoPE>({.frequencies = NTKFrequencies{.factor = 0.5}}, kOneHead),
               "ro_pe.frequencies.factor: expected a number of at least 1, got 0.5");
  EXPECT_ERROR(build_for_test<RoPE>(
                   {.frequencies =
                        Llama3Frequencies{.factor = 8, .low_freq_factor = 5, .original_len = 8192}},
                   kOneHead),
               "ro_pe.frequencies: expected low_freq_factor < high_freq_factor, got 5 and 4");
  Child<QKV> slot = RoPE::Config{};
  set(slot, "streams.sections", "[16, 24, 24]");
  EXPECT_EQ(slot.get_if<RoPE>()->streams->sections.size(), 3u);
  set(slot, "frequencies", "Llama3Frequencies");
  EXPECT_ERROR(check_complete(slot, "qkv"),
               "REQUIRED but not set: qkv.frequencies.factor, qkv.frequencies.original_len");
  EXPECT_ERROR(set(slot, "frequencies.factor", "0.5"),
               "frequencies.factor: expected a number of at least 1, got '0.5'");
  EXPECT_THAT(error_of<ConfigError>([&] { set(slot, "frequencies", "Llama4Frequencies"); }),
              ::testing::HasSubstr("did you mean 'Llama3Frequencies'?"));
}

TEST(RoPE, ReadsAFieldByItsFormerName) {
  Child<QKV> slot = RoPE::Config{};
  set(slot, "turn_values", "true");
  EXPECT_TRUE(slot.get_if<RoPE>()->rotate_values);
  EXPECT_THAT(to_string(slot), ::testing::HasSubstr("\nrotate_values: true\n"));
  EXPECT_THAT(to_string(slot), ::testing::Not(::testing::HasSubstr("turn_values")));
}

}  // namespace
}  // namespace axle
