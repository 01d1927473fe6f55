#include "config/register.h"
#include "config/set.h"
#include "layers/attention/masks/attention_mask.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "testing/error_of.h"
#include "testing/test_layer.h"

namespace axle {
namespace {

Tensor same_parity(const Tensor& query_positions, const Tensor& key_positions) {
  const Tensor distance = query_positions - key_positions;
  return equal(distance / 2 * 2, distance);
}
AXLE_REGISTER(same_parity, "same_parity")

std::unique_ptr<AttentionMask> built(const Child<AttentionMask>& config) {
  return config.build({}, {.path = "mask"});
}

// Draws which of five keys each of five queries of one row sees: one text line for each query. The
// segments are 1 1 2 2 2, the prefix has two tokens.
std::string drawn(const Child<AttentionMask>& config) {
  const HostTensor sees = eval(
      [&](const Values&) {
        const Tensor segments = constant(HostTensor({1, 5, 1}, {1, 1, 2, 2, 2}));
        const TokenPositions at{.query_positions = iota({5, 1}, 0),
                                .key_positions = iota({1, 5}, 1),
                                .query_segments = segments,
                                .key_segments = constant(HostTensor({1, 1, 5}, {1, 1, 2, 2, 2})),
                                .prefix_lengths = constant(HostTensor({1, 1, 1}, {2}))};
        const Tensor pred = (*built(config))(at);
        return Values{astype(broadcast_to(pred, {1, 5, 5}), DType::kI32)};
      },
      {})[0];
  std::string out;
  for (int64_t i = 0; i < 25; ++i) {
    out += sees.at(i) != 0 ? 'x' : '.';
    if (i % 5 == 4 && i < 24) out += ' ';
  }
  return out;
}

// Returns what the queries [q, q + nq) see of the keys [k, k + nk), by the mask itself.
Sight seen_in(const AttentionMask& mask, const PositionBlock& block) {
  const HostTensor sees = eval(
      [&](const Values&) {
        const TokenPositions at{.query_positions = iota({8, 1}, 0),
                                .key_positions = iota({1, 8}, 1)};
        return Values{astype(broadcast_to(mask(at), {8, 8}), DType::kI32)};
      },
      {})[0];
  bool some = false, all = true;
  for (int64_t t = block.query_begin; t < block.query_end; ++t) {
    for (int64_t s = block.key_begin; s < block.key_end; ++s) {
      some |= sees.at(t * 8 + s) != 0;
      all &= sees.at(t * 8 + s) != 0;
    }
  }
  return all ? Sight::kAll : some ? Sight::kSome : Sight::kNone;
}

// q >= k, written so that ranges of positions do not show it.
Tensor not_later_twice(const Tensor& q, const Tensor& k) { return q * 2 - (q + k) >= 0; }
AXLE_REGISTER(not_later_twice, "not_later_twice")
Tensor in_same_chunk(const Tensor& q, const Tensor& k) {
  return equal(q / (1 << 21), k / (1 << 21));
}
AXLE_REGISTER(in_same_chunk, "in_same_chunk")
Tensor is_near(const Tensor& q, const Tensor& k) { return abs(q - k) < 100; }
AXLE_REGISTER(is_near, "is_near")

// The sight of every block of rows of eight is exact, but where masks are combined: there it may
// know less, and never says what is not so.
TEST(Masks, SightOfBlocksIsCorrect) {
  const PositionMask::Config parity{.sees = {{"same_parity", &same_parity}}};
  PositionMask::Config causal_parity = parity;
  causal_parity.causal = true;
  const SlidingWindowMask::Config window{.window = 2};
  const TwoSidedWindowMask::Config two_sided{.before = 1, .after = 2};
  const auto check = [](const Child<AttentionMask>& config, bool is_exact) {
    const auto mask = built(config);
    int64_t num_known = 0;
    for (int64_t q = 0; q < 8; ++q) {
      for (int64_t k = 0; k < 8; ++k) {
        for (const auto& [nq, nk] : {std::pair(1, 1), {2, 2}, {1, 3}, {4, 2}, {8, 8}}) {
          if (q + nq > 8 || k + nk > 8) continue;
          const PositionBlock block{q, q + nq, k, k + nk};
          const Sight said = mask->sight(block), is = seen_in(*mask, block);
          num_known += said != Sight::kSome ? 1 : 0;
          EXPECT_TRUE(said == is || (!is_exact && said == Sight::kSome)) << q << k << nq << nk;
        }
      }
    }
    EXPECT_GT(num_known, 20);
  };
  check(CausalMask::Config{}, true);
  check(window, true);
  check(two_sided, true);
  check(parity, true);
  check(causal_parity, true);
  check(AllOf::Config{.masks = {CausalMask::Config{}, two_sided, parity}}, false);
  check(AnyOf::Config{.masks = {window, two_sided}}, false);
  // What depends on the batch is not known, and what is slow to know is not asked for.
  EXPECT_EQ(built(PrefixMask::Config{})->sight({0, 1, 5, 6}), Sight::kSome);
  EXPECT_EQ(built(SegmentMask::Config{})->sight({0, 1, 5, 6}), Sight::kSome);
  const PositionMask::Config twice{.sees = {{"not_later_twice", &not_later_twice}}};
  check(twice, true);
  EXPECT_EQ(built(twice)->sight({0, 2, 2, 4, false}), Sight::kSome);
  EXPECT_EQ(built(causal_parity)->sight({0, 2, 2, 4, false}), Sight::kNone);
}

// Rows too long to evaluate the mask for.
TEST(Masks, SightOfBlocksIsKnownForLongRows) {
  const auto sight = [](std::string_view name, int64_t query, int64_t key) {
    PositionMask::Config cfg;
    set(cfg, "sees", name);
    const auto mask = built(cfg);
    return mask->sight({query << 20, (query + 1) << 20, key << 20, (key + 1) << 20, false});
  };
  EXPECT_EQ(sight("in_same_chunk", 0, 1), Sight::kAll);
  EXPECT_EQ(sight("in_same_chunk", 1, 2), Sight::kNone);
  EXPECT_EQ(sight("is_near", 3, 3), Sight::kSome);
  EXPECT_EQ(sight("is_near", 3, 2), Sight::kSome);
  EXPECT_EQ(sight("is_near", 3, 1), Sight::kNone);
  EXPECT_EQ(sight("is_near", 3, 5), Sight::kNone);
  EXPECT_EQ(sight("same_parity", 3, 1), Sight::kSome);
}

TEST(Masks, SeeTheirKeys) {
  EXPECT_EQ(drawn(CausalMask::Config{}), "x.... xx... xxx.. xxxx. xxxxx");
  EXPECT_EQ(drawn(SlidingWindowMask::Config{.window = 1}), "x.... xx... .xx.. ..xx. ...xx");
  EXPECT_EQ(drawn(TwoSidedWindowMask::Config{.before = 0, .after = 1}),
            "xx... .xx.. ..xx. ...xx ....x");
  EXPECT_EQ(drawn(SegmentMask::Config{}), "xx... xx... ..xxx ..xxx ..xxx");
  EXPECT_EQ(drawn(PrefixMask::Config{}), "xx... xx... xx... xx... xx...");
  EXPECT_EQ(drawn(PositionMask::Config{.sees = {{"same_parity", &same_parity}}}),
            "x.x.x .x.x. x.x.x .x.x. x.x.x");
  EXPECT_EQ(drawn(PositionMask::Config{.sees = {{"same_parity", &same_parity}}, .causal = true}),
            "x.... .x... x.x.. .x.x. x.x.x");
}

TEST(Masks, Combine) {
  const AnyOf::Config prefix_lm{.masks = {CausalMask::Config{}, PrefixMask::Config{}}};
  EXPECT_EQ(drawn(prefix_lm), "xx... xx... xxx.. xxxx. xxxxx");
  EXPECT_EQ(drawn(AllOf::Config{.masks = {prefix_lm, SegmentMask::Config{}}}),
            "xx... xx... ..x.. ..xx. ..xxx");
}

TEST(Masks, KnowIfTheyAreCausal) {
  const Child<AttentionMask> causal = CausalMask::Config{}, prefix = PrefixMask::Config{},
                             open = TwoSidedWindowMask::Config{};
  const auto all = [](auto... masks) { return built(AllOf::Config{.masks = {masks...}}); };
  const auto any = [](auto... masks) { return built(AnyOf::Config{.masks = {masks...}}); };
  EXPECT_TRUE(all(open, causal)->is_causal());
  EXPECT_TRUE(all(open, causal)->can_decode());
  EXPECT_FALSE(any(open, causal)->can_decode());
  EXPECT_FALSE(any(prefix, causal)->is_causal());
  EXPECT_TRUE(any(prefix, causal)->can_decode());
  EXPECT_TRUE(built(TwoSidedWindowMask::Config{.after = 0})->is_causal());
}

TEST(Masks, ConjunctsSplitIntoTheirParts) {
  const auto mask = built(AllOf::Config{
      .masks = {
          AllOf::Config{.masks = {SegmentMask::Config{}, SlidingWindowMask::Config{.window = 7}}},
          CausalMask::Config{}}});
  const std::vector<const AttentionMask*> parts = mask->conjuncts();
  ASSERT_EQ(parts.size(), 3u);
  const auto* window = dynamic_cast<const SlidingWindowMask*>(parts[1]);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->window(), 7);
  EXPECT_EQ(built(AnyOf::Config{.masks = {CausalMask::Config{}}})->conjuncts().size(), 1u);
}

TEST(Masks, MustNotBeEmpty) {
  EXPECT_EQ(error_of([] { built(AllOf::Config{}); }),
            "mask.masks: expected at least one mask, got none; leave the mask of attention out if "
            "every query sees every key");
}

}  // namespace
}  // namespace axle
