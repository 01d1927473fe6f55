#include "hlo/collectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "hlo/proto_test.h"
#include "ir/devices/mesh.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

const Mesh kMesh{{{"data", 2}, {"model", 2}}};
const ReplicaGroups kOverData = {{0, 2}, {1, 3}}, kOverModel = {{0, 1}, {2, 3}};
using fields::kBF16, fields::kPred, fields::kS32;

std::vector<Collective> read(const HloWriter& w) {
  return collectives(read_hlo_module(w.bytes()), kMesh);
}

// Returns the fields of both.

TEST(Collectives, HaveKindAxesBytesAndLayer) {
  HloWriter w;
  const int64_t x = w.parameter(array_shape({4, 8}, kBF16));
  w.add("all-gather", array_shape({8, 8}, kBF16), {x},
        with(grouped(kOverModel), op_name("model/emb/gather")));
  const int64_t sum = w.add("reduce-scatter", array_shape({2, 8}, kBF16), {x},
                            with(grouped(kOverData), op_name("backward/model/emb/dot_general")));
  w.add("add", array_shape({2, 8}, kBF16), {sum, sum});
  w.end("main");
  const auto all = read(w);
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].kind, "all-gather");
  EXPECT_THAT(all[0].axes, ElementsAre("model"));
  EXPECT_EQ(all[0].bytes, 8 * 8 * 2);  // the result
  EXPECT_EQ(all[0].count, 1);
  EXPECT_EQ(all[0].layer, "model/emb");
  EXPECT_EQ(all[0].op, "gather");
  EXPECT_FALSE(all[0].backward);
  EXPECT_THAT(all[0].arguments, ElementsAre(0));
  EXPECT_THAT(all[0].elements, ElementsAre(8 * 8));
  EXPECT_EQ(all[1].kind, "reduce-scatter");
  EXPECT_THAT(all[1].axes, ElementsAre("data"));
  EXPECT_EQ(all[1].bytes, 4 * 8 * 2);  // the operand
  EXPECT_TRUE(all[1].backward);
}

TEST(Collectives, VariadicCollectivesCountAsOne) {
  HloWriter w;
  const ProtoWriter a = array_shape({3}), b = array_shape({5});
  const int64_t x = w.parameter(a, 0), y = w.parameter(b, 1);
  const int64_t product = w.add("multiply", b, {y, y});
  w.add("all-reduce", tuple_shape({a, b}), {x, product},
        with(grouped(kOverData), op_name("model/(up/dot:norm/reduce)")));
  w.end("main");
  const auto all = read(w);
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].bytes, (3 + 5) * 4);
  EXPECT_EQ(all[0].layer, "model/{norm, up}");
  EXPECT_EQ(all[0].op, "dot + reduce");
  EXPECT_THAT(all[0].arguments, ElementsAre(0, -1));
  EXPECT_THAT(all[0].elements, ElementsAre(3, 5));
}

TEST(Collectives, AllDevicesTakePartIfThereAreNoGroups) {
  HloWriter w;
  const int64_t x = w.parameter(array_shape({4}));
  w.add("all-reduce", array_shape({4}), {x},
        with(channel(1), ProtoWriter().varint(fields::kUseGlobalDeviceIds, 1)));
  // With a channel but without global device ids, the groups hold replicas.
  w.add("all-reduce", array_shape({4}), {x},
        with(channel(1), ProtoWriter().message(fields::kReplicaGroups, replica_group({0}))));
  // Groups of one device move nothing.
  w.add("all-reduce", array_shape({4}), {x}, grouped({{0}, {1}, {2}, {3}}));
  w.end("main");
  const auto all = read(w);
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_THAT(all[0].axes, ElementsAre("data", "model"));
  EXPECT_THAT(all[1].axes, ElementsAre("data", "model"));
}

TEST(Collectives, AsynchronousCollectivesCountOnce) {
  const ProtoWriter in = array_shape({4}), out = array_shape({8}),
                    token = array_shape({}, fields::kU32);
  HloWriter w;
  const int64_t p = w.parameter(out);
  w.add("reduce-scatter", in, {p}, grouped(kOverModel));
  const int64_t wrapped = w.end("wrapped");
  const int64_t x = w.parameter(in);
  const int64_t gather =
      w.add("all-gather-start", tuple_shape({in, out}), {x}, grouped(kOverModel));
  const int64_t whole = w.add("all-gather-done", out, {gather});
  const int64_t reduce = w.add("all-reduce-start", out, {whole}, grouped(kOverData));
  const int64_t sum = w.add("all-reduce-done", out, {reduce});
  const int64_t permute = w.add("collective-permute-start", tuple_shape({out, out, token, token}),
                                {sum}, source_target(0, 1));
  const int64_t moved = w.add("collective-permute-done", out, {permute});
  const ProtoWriter state = tuple_shape({tuple_shape({out}), in, token});
  const int64_t start =
      w.add("async-start", state, {moved}, with(calls({wrapped}), op_name("model/dot_general")));
  const int64_t update = w.add("async-update", state, {start}, calls({wrapped}));
  w.add("async-done", in, {update}, calls({wrapped}));
  w.end("main");
  auto all = read(w);
  std::ranges::sort(all, {}, &Collective::kind);
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_EQ(all[0].kind, "all-gather");
  EXPECT_EQ(all[0].bytes, 8 * 4);
  EXPECT_THAT(all[0].elements, ElementsAre(8));
  EXPECT_EQ(all[1].kind, "all-reduce");
  EXPECT_EQ(all[1].bytes, 8 * 4);
  EXPECT_EQ(all[2].kind, "collective-permute");
  EXPECT_EQ(all[2].bytes, 8 * 4);
  EXPECT_THAT(all[2].axes, ElementsAre("model"));
  EXPECT_EQ(all[3].kind, "reduce-scatter");
  EXPECT_EQ(all[3].layer, "model");  // from the async-start instruction
  for (const Collective& c : all) EXPECT_EQ(c.count, 1) << c.kind;
}

TEST(Collectives, AnAllReduceFusedWithItsSliceIsAReduceScatter) {
  HloWriter w;
  const int64_t p = w.parameter(array_shape({8}));
  const int64_t sum = w.add("all-reduce", array_shape({8}), {p}, grouped(kOverModel));
  w.add("dynamic-slice", array_shape({4}), {sum});
  const int64_t fused = w.end("fused", /*is_fusion=*/true);
  const int64_t x = w.parameter(array_shape({8}));
  w.add("fusion", array_shape({4}), {x}, with(calls({fused}), op_name("model/dot_general")));
  const int64_t apart = w.add("all-reduce", array_shape({8}), {x}, grouped(kOverModel));
  w.add("dynamic-slice", array_shape({4}), {apart});
  w.end("main");
  auto all = read(w);
  std::ranges::sort(all, {}, &Collective::kind);
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].kind, "all-reduce");
  EXPECT_EQ(all[1].kind, "reduce-scatter");
  EXPECT_EQ(all[1].bytes, 8 * 4);
  EXPECT_EQ(all[1].op, "dot_general");
}

TEST(Collectives, CollectiveSplitIntoFusionsCountsOnce) {
  HloWriter w;
  const ProtoWriter part = array_shape({4}), whole = array_shape({8});
  const auto fused = [&](const char* name, int64_t channel) {
    const int64_t p = w.parameter(part);
    w.add("all-gather", whole, {p}, with(grouped(kOverModel), axle::channel(channel)));
    return w.end(name, /*is_fusion=*/true);
  };
  const int64_t start = fused("start", 7), step = fused("step", 7), other = fused("other", 8);
  const int64_t x = w.parameter(part, 3);
  const int64_t started = w.add("fusion", whole, {x}, calls({start}));
  const int64_t rest = w.add("negate", part, {started});
  w.add("fusion", whole, {rest}, calls({step}));
  w.add("fusion", whole, {rest}, calls({other}));
  w.end("main");
  std::vector<std::vector<int64_t>> arguments;
  for (const Collective& c : read(w)) arguments.push_back(c.arguments);
  EXPECT_THAT(arguments, ::testing::UnorderedElementsAre(ElementsAre(3), ElementsAre(-1)));
}

TEST(Collectives, EveryBranchAndEveryCallerCounts) {
  HloWriter w;
  const int64_t p = w.parameter(array_shape({4}));
  w.add("all-reduce", array_shape({4}), {p}, grouped(kOverData));
  const int64_t first = w.end("first");
  const int64_t q = w.parameter(array_shape({4}));
  w.add("all-reduce", array_shape({4}), {q}, grouped(kOverModel));
  const int64_t second = w.end("second");
  const int64_t x = w.parameter(array_shape({4}));
  const int64_t index = w.parameter(array_shape({}, kPred), 1);
  w.add("conditional", array_shape({4}), {index, x, x}, calls({first, second}));
  w.add("call", array_shape({4}), {x}, calls({first}));
  w.add("call", array_shape({4}), {x}, with(calls({first}), op_name("backward/model/call")));
  w.end("main");
  const auto all = read(w);
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_THAT(all[0].axes, ElementsAre("data"));
  EXPECT_EQ(all[0].count, 2);
  EXPECT_THAT(all[1].axes, ElementsAre("data"));
  EXPECT_EQ(all[1].count, 1);
  EXPECT_TRUE(all[1].backward);
  EXPECT_THAT(all[2].axes, ElementsAre("model"));
  EXPECT_EQ(all[2].count, 1);
}

ProtoWriter known_trips(int64_t n) {
  return ProtoWriter().bytes(fields::kBackendConfig,
                             R"({"known_trip_count":{"n":")" + std::to_string(n) + R"("}})");
}

// Adds a loop condition that is always true, so that the trip count is unknown; returns its id.
int64_t forever(HloWriter& w, const ProtoWriter& state) {
  w.parameter(state);
  w.add("constant", array_shape({}, kPred));
  return w.end("forever");
}

TEST(Collectives, LoopsInLoopsMultiply) {
  HloWriter w;
  const ProtoWriter x = array_shape({4});
  const int64_t condition = forever(w, x);
  const int64_t p = w.parameter(x);
  w.add("all-reduce", x, {p}, grouped(kOverData));
  const int64_t inner = w.end("inner");
  const int64_t q = w.parameter(x);
  const int64_t once = w.add("all-reduce", x, {q}, grouped(kOverModel));
  w.add("while", x, {once}, with(calls({inner, condition}), known_trips(5)));
  const int64_t outer = w.end("outer");
  const int64_t r = w.parameter(x);
  const int64_t loop = w.add("while", x, {r}, with(calls({outer, condition}), known_trips(3)));
  w.add("while", x, {loop}, calls({inner, condition}));
  w.end("main");
  const auto all = read(w);
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all[0].count, 15);
  EXPECT_FALSE(all[0].is_lower_bound);
  EXPECT_EQ(all[1].count, 1);  // in a loop with unknown trip count
  EXPECT_TRUE(all[1].is_lower_bound);
  EXPECT_EQ(all[2].count, 3);
}

// Returns a loop as the TPU compiler writes it, without a trip count in its backend_config:
//   for (i = first; i < limit; i += 2) gather weights[i]
// If `changed`, each iteration also multiplies the weights.
HloWriter counted_loop(int64_t first, int64_t limit, std::string_view comparison, bool changed) {
  HloWriter w;
  const ProtoWriter number = array_shape({}, kS32), weights = array_shape({6, 4}),
                    slice = array_shape({1, 4}), state = tuple_shape({number, weights});
  const int64_t f = w.parameter(weights, 0), at = w.parameter(number, 1);
  const int64_t cut = w.add("dynamic-slice", slice, {f, at});
  w.add("convert", array_shape({1, 4}, kBF16), {cut});
  const int64_t fused = w.end("slice_and_cast", true);

  const int64_t p = w.parameter(state);
  const int64_t i = w.element(p, 0, number), held = w.element(p, 1, weights);
  const int64_t part = w.add("fusion", array_shape({1, 4}, kBF16), {held, i}, calls({fused}));
  w.add("all-gather", array_shape({1, 8}, kBF16), {part},
        with(grouped(kOverModel), op_name("model/layers/scan")));
  const int64_t two = w.add("constant", number, {}, integer(2));
  const int64_t next = w.add("add", number, {i, two});
  const int64_t kept = changed ? w.add("multiply", weights, {held, held}) : held;
  w.add("tuple", state, {next, kept});
  const int64_t body = w.end("body");

  const int64_t s = w.parameter(state), counter = w.element(s, 0, number);
  const int64_t end = w.add("constant", number, {}, integer(limit));
  w.add("compare", array_shape({}, kPred), {counter, end},
        ProtoWriter().bytes(fields::kComparisonDirection, comparison));
  const int64_t condition = w.end("condition");

  const int64_t argument = w.parameter(weights, 3);
  const int64_t start = w.add("constant", number, {}, integer(first));
  const int64_t copy = w.add("copy", number, {start});
  const int64_t init = w.add("tuple", state, {copy, argument});
  w.add("while", state, {init}, calls({body, condition}));
  w.end("main");
  return w;
}

// Gradients that a loop has stacked belong to the layer that made them and not to the loop. The
// same holds for a sum over the loop's iterations.
TEST(Collectives, StackedGradientsBelongToTheLayersThatComputeThem) {
  HloWriter w;
  const std::string loop = "backward/model/layers/scan";
  const ProtoWriter number = array_shape({}, kS32), one = array_shape({4}),
                    row = array_shape({1, 4}), stack = array_shape({6, 4});
  const ProtoWriter state = tuple_shape({number, stack, one});
  const int64_t q = w.parameter(stack, 0), r = w.parameter(one, 1), n = w.parameter(number, 2);
  const int64_t as_row = w.add("bitcast", row, {r}, op_name(loop));
  w.add("dynamic-update-slice", stack, {q, as_row, n}, op_name(loop));
  const int64_t stacking = w.end("stack", true);

  const int64_t p = w.parameter(state);
  const int64_t i = w.element(p, 0, number), held = w.element(p, 1, stack),
                summed = w.element(p, 2, one);
  const int64_t scale =
      w.add("reduce", one, {held}, op_name("backward/model/layers/layer/norm/reduce_sum"));
  const int64_t put =
      w.add("fusion", stack, {held, scale, i}, with(calls({stacking}), op_name(loop)));
  const int64_t bias =
      w.add("reduce", one, {held}, op_name("backward/model/layers/layer/up/reduce_sum"));
  const int64_t more = w.add("add", one, {summed, bias}, op_name(loop));
  w.add("tuple", state, {i, put, more});
  const int64_t body = w.end("body");
  const int64_t condition = forever(w, state);

  const int64_t x = w.parameter(stack, 0), y = w.parameter(one, 1);
  const int64_t start = w.add("constant", number, {}, integer(0));
  const int64_t init = w.add("tuple", state, {start, x, y});
  const int64_t done = w.add("while", state, {init}, with(calls({body, condition}), op_name(loop)));
  const int64_t stacked = w.element(done, 1, stack), sum = w.element(done, 2, one);
  const int64_t head = w.add("negate", one, {y}, op_name("backward/model/head/dot_general"));
  w.add("all-reduce", tuple_shape({stack, one, one}), {stacked, sum, head},
        with(grouped(kOverData), op_name(loop)));
  w.end("main");
  const auto all = read(w);
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].layer, "model/{head, layers/layer/norm, layers/layer/up}");
  EXPECT_EQ(all[0].op, "dot_general + reduce_sum");
}

// Each sum adds the previous one to itself, so that there are 2^200 paths back, none with a name.
TEST(Collectives, SearchForANameEnds) {
  HloWriter w;
  const ProtoWriter one = array_shape({4});
  int64_t x = w.parameter(one);
  for (int i = 0; i < 200; ++i) x = w.add("add", one, {x, x});
  w.add("all-reduce", tuple_shape({one, one}), {x, x}, grouped(kOverData));
  w.end("main");
  EXPECT_EQ(read(w).at(0).layer, "");
}

TEST(Collectives, LoopCountersThatOverflowAreLowerBounds) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(),
                    kMost = std::numeric_limits<int64_t>::max();
  const auto first = [](int64_t start, int64_t limit, std::string_view comparison) {
    return read(counted_loop(start, limit, comparison, false)).at(0);
  };
  EXPECT_TRUE(first(kLeast, kMost, "LT").is_lower_bound);
  EXPECT_TRUE(first(-1, kMost, "LT").is_lower_bound);
  EXPECT_TRUE(first(0, kMost, "LE").is_lower_bound);
  EXPECT_TRUE(first(kMost, kLeast, "LT").is_lower_bound);
  const Collective longest = first(0, kMost, "LT");
  EXPECT_FALSE(longest.is_lower_bound);
  EXPECT_EQ(longest.count, kMost / 2 + 1);
}

TEST(Collectives, CountersOfLoopsAreFollowed) {
  const auto trips = [](int64_t first, int64_t limit, std::string_view comparison) {
    const auto all = read(counted_loop(first, limit, comparison, false));
    return all.at(0).is_lower_bound ? -1 : all.at(0).count;
  };
  EXPECT_EQ(trips(0, 6, "LT"), 3);
  EXPECT_EQ(trips(1, 6, "LT"), 3);
  EXPECT_EQ(trips(0, 6, "LE"), 4);
  EXPECT_EQ(trips(7, 6, "LT"), 0);
  EXPECT_EQ(trips(0, 6, "NE"), -1);
}

TEST(Collectives, GatheredArgumentIsKnown) {
  EXPECT_THAT(read(counted_loop(0, 6, "LT", false)).at(0).arguments, ElementsAre(3));
  EXPECT_THAT(read(counted_loop(0, 6, "LT", true)).at(0).arguments, ElementsAre(-1));
}

// Both arguments are gathered over model by one instruction, then each over data.
TEST(Collectives, ArgumentOfEachGatherIsKnown) {
  const ProtoWriter small = array_shape({2}), large = array_shape({3}), two = array_shape({4}),
                    three = array_shape({6}), both = tuple_shape({two, three});
  for (const bool asynchronous : {false, true}) {
    HloWriter w;
    const int64_t x = w.parameter(small, 7), y = w.parameter(large, 4);
    int64_t gathered = 0;
    if (asynchronous) {
      const int64_t start =
          w.add("all-gather-start", tuple_shape({tuple_shape({small, large}), both}), {x, y},
                grouped(kOverModel));
      gathered = w.add("all-gather-done", both, {start});
    } else {
      gathered = w.add("all-gather", both, {x, y}, grouped(kOverModel));
    }
    const int64_t first = w.element(gathered, 0, two), second = w.element(gathered, 1, three);
    w.add("all-gather", array_shape({12}), {second}, grouped(kOverData));
    w.add("all-gather", array_shape({8}), {first}, grouped(kOverData));
    w.end("main");
    const auto all = read(w);
    ASSERT_THAT(all, SizeIs(3));
    EXPECT_THAT(all[0].arguments, ElementsAre(7, 4));
    EXPECT_THAT(all[1].arguments, ElementsAre(4));
    EXPECT_THAT(all[2].arguments, ElementsAre(7));
  }
}

TEST(Collectives, PartsOfArgumentsMayBeSetIntoZeros) {
  HloWriter w;
  const ProtoWriter part = array_shape({4}), whole = array_shape({8}),
                    number = array_shape({}, kS32);
  const int64_t x = w.parameter(part, 5);
  const int64_t zero = w.add("constant", number, {}, integer(0));
  const int64_t zeros = w.add("broadcast", whole, {zero});
  const int64_t set = w.add("dynamic-update-slice", whole, {zeros, x, zero});
  const int64_t gathered = w.add("all-reduce", whole, {set}, grouped(kOverModel));
  const int64_t changed = w.add("dynamic-update-slice", whole, {gathered, x, zero});
  w.add("all-reduce", whole, {changed}, grouped(kOverModel));
  w.end("main");
  const auto all = read(w);
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_THAT(all[0].arguments, ElementsAre(5));
  EXPECT_THAT(all[1].arguments, ElementsAre(-1));
}

TEST(Collectives, PartsOfOneArgumentMayBeJoined) {
  HloWriter w;
  const ProtoWriter part = array_shape({4}), whole = array_shape({8});
  const ProtoWriter concat_bitcast =
      ProtoWriter().bytes(fields::kCustomCallTarget, "ConcatBitcast");
  const int64_t x = w.parameter(whole, 3), y = w.parameter(whole, 4);
  const auto slice = [&](int64_t of) { return w.add("slice", part, {of}); };
  const int64_t one = w.add("custom-call", whole, {slice(x), slice(x)}, concat_bitcast);
  const int64_t joined = w.add("concatenate", whole, {slice(x), slice(x)});
  const int64_t mixed = w.add("concatenate", whole, {slice(x), slice(y)});
  const int64_t unknown = w.add("custom-call", whole, {slice(x), slice(x)});
  for (const int64_t operand : {one, joined, mixed, unknown})
    w.add("all-gather", array_shape({16}), {operand}, grouped(kOverModel));
  w.end("main");
  std::vector<int64_t> arguments;
  for (const Collective& c : read(w)) arguments.push_back(c.arguments.at(0));
  EXPECT_THAT(arguments, ElementsAre(3, 3, -1, -1));
}

TEST(Collectives, EqualCollectivesShareARow) {
  const Collective small{.kind = "all-gather", .axes = {"fsdp"}, .bytes = 10, .count = 3};
  Collective again = small, large = small, other = small;
  again.bytes = 20;
  large.axes = {"model"};
  large.bytes = 1000;
  other.arguments = {4, 2, 4};
  const auto rows = rows_of({small, again, large, other});
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_EQ(rows[0].bytes, 3000);
  EXPECT_EQ(rows[1].count, 6);
  EXPECT_EQ(rows[1].bytes, 30 + 60);
  EXPECT_THAT(rows[2].arguments, ElementsAre(2, 4));
}

}  // namespace
}  // namespace axle
