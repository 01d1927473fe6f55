#include "plan/compiler_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hlo/proto_test.h"
#include "ir/devices/mesh.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Mesh kFsdp{{{"fsdp", 4}}};
const ReplicaGroups kAll = {{0, 1, 2, 3}};
using fields::kBF16, fields::kPred, fields::kS32;

// Returns a loop over the 12 layers of a weight with 2 rows per device. Its body gathers a layer
// `times` times and uses the result.
std::string layers(int times, bool backward) {
  HloWriter w;
  const ProtoWriter stack = array_shape({12, 2, 8}), index = array_shape({}, kS32),
                    state = tuple_shape({index, stack}), part = array_shape({1, 2, 8}),
                    whole = array_shape({1, 8, 8});
  const std::string place = backward ? "backward/model/layer/scan" : "model/layer/scan";
  const int64_t p = w.parameter(state), i = w.element(p, 0, index), all = w.element(p, 1, stack);
  for (int n = 0; n < times; ++n) {
    const int64_t own = w.add("dynamic-slice", part, {all, i, i, i});
    const int64_t gathered = w.add("all-gather", whole, {own}, with(grouped(kAll), op_name(place)));
    w.add("negate", whole, {gathered});
  }
  w.add("tuple", state, {i, all});
  const int64_t body = w.end("body");
  w.parameter(state);
  w.add("constant", array_shape({}, kPred));
  const int64_t condition = w.end("condition");
  const int64_t start = w.parameter(index, 0), weight = w.parameter(stack, 1);
  const int64_t init = w.add("tuple", state, {start, weight});
  ProtoWriter loop = calls({body, condition});
  w.add("while", state, {init},
        loop.bytes(fields::kBackendConfig, R"({"known_trip_count":{"n":"12"}})"));
  w.end("main");
  return w.bytes();
}

std::vector<Collective> collectives_of(const HloModule& module) {
  return collectives(module, kFsdp);
}

std::vector<std::string> findings_of(const std::string& bytes) {
  const HloModule module = read_hlo_module(bytes);
  return to_texts(
      compiler_findings(module, collectives_of(module), {"counter", "model/layer/weight"}));
}

TEST(ArgumentGathers, CountHowOftenAWholeParameterIsGathered) {
  for (const int times : {1, 3}) {
    for (const bool backward : {false, true}) {
      const HloModule module = read_hlo_module(layers(times, backward));
      const auto gathers = argument_gathers(collectives_of(module));
      ASSERT_EQ(gathers.size(), 1u);
      EXPECT_EQ(gathers[0].argument, 1);
      EXPECT_EQ(gathers[0].backward, backward);
      EXPECT_DOUBLE_EQ(gathers[0].times, times);
      EXPECT_DOUBLE_EQ(gathers[0].bytes, times * 12 * 8 * 8 * 4);
    }
  }
}

TEST(CompilerFindings, NameParametersThatAreGatheredAgain) {
  EXPECT_THAT(findings_of(layers(3, true)),
              ::testing::Contains(
                  HasSubstr("the backward pass gathers parameters up to 3 times: 9.0 KiB per "
                            "device, 3.0 KiB would be enough (model/layer/weight)")));
}

TEST(CompilerFindings, NameCollectivesOfLoopsThatNoComputationOverlaps) {
  EXPECT_THAT(
      findings_of(layers(1, false)),
      ElementsAre("no computation overlaps these collectives in loops: 12 all-gather (3.0 KiB)"));
}

TEST(CompilerFindings, AsynchronousCollectivesAreNotReported) {
  HloWriter w;
  const ProtoWriter part = array_shape({2, 8}), whole = array_shape({8, 8});
  const int64_t x = w.parameter(part);
  const int64_t start = w.add("all-gather-start", tuple_shape({part, whole}), {x}, grouped(kAll));
  w.add("all-gather-done", whole, {start});
  w.end("main");
  EXPECT_THAT(findings_of(w.bytes()), IsEmpty());
}

// Each device writes its rows into zeros and an all-reduce sums them: twice the bytes of a gather.
TEST(CompilerFindings, NameGathersAndScattersThatAreAllReduces) {
  HloWriter w;
  const ProtoWriter part = array_shape({2, 8}), whole = array_shape({8, 8}),
                    index = array_shape({}, kS32);
  const int64_t at = w.parameter(index, 0), x = w.parameter(part, 1);
  const int64_t zero = w.add("constant", array_shape({}));
  const int64_t zeros = w.add("broadcast", whole, {zero});
  const int64_t placed = w.add("dynamic-update-slice", whole, {zeros, x, at, at});
  const int64_t gathered = w.add("all-reduce", whole, {placed}, grouped(kAll));
  const int64_t product = w.add("negate", whole, {gathered});
  const int64_t sum = w.add("all-reduce", whole, {product},
                            with(grouped(kAll), op_name("backward/model/layer/dot_general")));
  const int64_t view = w.add("bitcast", whole, {sum});
  const int64_t own = w.add("partition-id", index);
  w.add("dynamic-slice", part, {view, own, own});
  w.end("main");
  const HloModule module = read_hlo_module(w.bytes());
  const auto all = collectives_of(module);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].implemented_kind, "all-gather");
  EXPECT_EQ(all[1].implemented_kind, "reduce-scatter");
  EXPECT_THAT(findings_of(w.bytes()),
              ElementsAre("1 all-gathers are implemented by all-reduces, which send twice as much: "
                          "256 B per device (model/layer/weight)",
                          "1 reduce-scatters are implemented by all-reduces, which send twice as "
                          "much: 256 B per device (model/layer)"));
}

// Writes the condition of a loop: the counter, which is the first element of the state, is below
// `count`. Returns its id.
int64_t below(HloWriter& w, const ProtoWriter& state, int64_t count) {
  const ProtoWriter number = array_shape({}, kS32);
  const int64_t counter = w.element(w.parameter(state), 0, number);
  const int64_t end = w.add("constant", number, {}, integer(count));
  w.add("compare", array_shape({}, kPred), {counter, end},
        ProtoWriter().bytes(fields::kComparisonDirection, "LT"));
  return w.end("condition");
}

// Returns a loop in which one instruction sums the gradients of two weights, which are then cast.
// Each device keeps its own rows, at an index from a table in the loop's carry, and stacks them.
HloWriter summed_in_a_loop(bool own_rows) {
  HloWriter w;
  const ProtoWriter whole = array_shape({8, 8}), cast = array_shape({8, 8}, kBF16),
                    row = array_shape({2, 8}, kBF16), norm = array_shape({4}),
                    number = array_shape({}, kS32), stack = array_shape({3, 2, 8}, kBF16);
  const ProtoWriter state = tuple_shape({number, number, stack, whole});
  w.add("convert", cast, {w.parameter(whole)});
  const int64_t casting = w.end("cast", true);
  const int64_t f = w.parameter(cast, 0), at = w.parameter(number, 1);
  w.add("dynamic-slice", row, {f, at, at});
  const int64_t cutting = w.end("cut", true);

  const int64_t p = w.parameter(state);
  const int64_t i = w.element(p, 0, number), own = w.element(p, 1, number),
                stacked = w.element(p, 2, stack), x = w.element(p, 3, whole);
  const int64_t one = w.add("constant", number, {}, integer(1));
  const int64_t next = w.add("add", number, {i, one});
  const int64_t gradient = w.add("negate", whole, {x}, op_name("backward/model/up/dot_general"));
  const int64_t scale = w.add("reduce", norm, {x}, op_name("backward/model/norm/reduce_sum"));
  const int64_t both = w.add("all-reduce", tuple_shape({whole, norm}), {gradient, scale},
                             with(grouped(kAll), op_name("backward/model/up/dot_general")));
  const int64_t sum = w.element(both, 0, whole);
  const int64_t small = w.add("fusion", cast, {sum}, calls({casting}));
  const int64_t kept = w.add("fusion", row, {small, own_rows ? own : i}, calls({cutting}));
  const int64_t put = w.add("dynamic-update-slice", stack, {stacked, kept, i});
  w.add("tuple", state, {next, own, put, x});
  const int64_t body = w.end("body");

  const int64_t condition = below(w, state, 3);
  const int64_t weights = w.parameter(whole, 0), zeros = w.parameter(stack, 1);
  const int64_t start = w.add("constant", number, {}, integer(0));
  const int64_t device = w.add("partition-id", number);
  const int64_t init = w.add("tuple", state, {start, device, zeros, weights});
  w.add("while", state, {init}, calls({body, condition}));
  w.end("main");
  return w;
}

TEST(CompilerFindings, ScatterIsRecognisedThroughTuplesAndFusions) {
  EXPECT_THAT(findings_of(summed_in_a_loop(true).bytes()),
              ::testing::Contains("3 reduce-scatters are implemented by all-reduces, which send "
                                  "twice as much: 816 B per device (model/{norm, up})"));
  // Rows at the loop's counter are the same on all devices, so this is no reduce-scatter.
  EXPECT_THAT(findings_of(summed_in_a_loop(false).bytes()),
              ::testing::Not(::testing::Contains(HasSubstr("reduce-scatters"))));
}

TEST(CompilerFindings, GatherOfScaledValuesIsRecognised) {
  HloWriter w;
  const ProtoWriter part = array_shape({2, 8}), whole = array_shape({8, 8});
  const int64_t x = w.parameter(part), own = w.add("partition-id", array_shape({}, kS32));
  const int64_t computed = w.add("tanh", part, {x});
  const int64_t zeros = w.add("broadcast", whole, {w.add("constant", array_shape({}))});
  const int64_t scale = w.add("broadcast", whole, {w.add("constant", array_shape({}))});
  const int64_t placed = w.add("dynamic-update-slice", whole, {zeros, computed, own, own});
  const int64_t scaled = w.add("multiply", whole, {scale, placed});
  w.add("all-reduce", whole, {scaled}, grouped(kAll));
  // A part that is written into values other than zeros is no gather: the all-reduce sums them.
  const int64_t other = w.add("dynamic-update-slice", whole, {scaled, computed, own, own});
  w.add("all-reduce", whole, {other}, grouped(kAll));
  w.end("main");
  const HloModule module = read_hlo_module(w.bytes());
  const auto all = collectives_of(module);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].implemented_kind, "all-gather");
  EXPECT_EQ(all[1].implemented_kind, "");
}

// Returns a program that passes a weight around all four devices: one hop before a loop, two in it.
HloWriter passed_around(bool changed) {
  HloWriter w;
  const ProtoWriter part = array_shape({2, 8}), number = array_shape({}, kS32);
  const ProtoWriter state = tuple_shape({number, part});
  ProtoWriter ring;
  for (int64_t i = 0; i < 4; ++i) ring.append(source_target(i, (i + 1) % 4));
  const int64_t p = w.parameter(state);
  const int64_t i = w.element(p, 0, number), held = w.element(p, 1, part);
  const int64_t one = w.add("constant", number, {}, integer(1));
  const int64_t next = w.add("add", number, {i, one});
  const int64_t moved = changed ? w.add("add", part, {held, held}) : held;
  const int64_t passed = w.add("collective-permute", part, {moved}, ring);
  w.add("tuple", state, {next, passed});
  const int64_t body = w.end("body");
  const int64_t condition = below(w, state, 2);
  w.parameter(number, 0);
  const int64_t weight = w.parameter(part, 1);
  const int64_t start = w.add("constant", number, {}, integer(0));
  const int64_t first = w.add("collective-permute", part, {weight}, ring);
  const int64_t init = w.add("tuple", state, {start, first});
  w.add("while", state, {init}, calls({body, condition}));
  w.end("main");
  return w;
}

TEST(CompilerFindings, PermutesThatPassAWeightAroundCountAsAGather) {
  const HloModule module = read_hlo_module(passed_around(false).bytes());
  const auto gathers = argument_gathers(collectives_of(module));
  ASSERT_EQ(gathers.size(), 1u);
  EXPECT_EQ(gathers[0].argument, 1);
  EXPECT_DOUBLE_EQ(gathers[0].times, 1);
  EXPECT_DOUBLE_EQ(gathers[0].bytes, 3 * 2 * 8 * 4);
  EXPECT_THAT(findings_of(passed_around(false).bytes()),
              ::testing::Contains("3 collective-permutes pass parameters from device to device "
                                  "instead of all-gathers: 192 B per device (model/layer/weight)"));
  // Passing computed sums around is no gather, and neither is a single hop.
  const HloModule sums = read_hlo_module(passed_around(true).bytes());
  EXPECT_THAT(argument_gathers(collectives_of(sums)), IsEmpty());
}

TEST(CompilerFindings, AllReduceWithAWhollyUsedResultIsNotReported) {
  HloWriter w;
  const ProtoWriter whole = array_shape({8, 8}), part = array_shape({2, 8});
  const int64_t at = w.parameter(array_shape({}, kS32), 0), x = w.parameter(whole, 1);
  const int64_t computed = w.add("negate", whole, {x});
  const int64_t sum = w.add("all-reduce", whole, {computed}, grouped(kAll));
  w.add("dynamic-slice", part, {sum, at, at});
  w.add("negate", whole, {sum});
  w.end("main");
  EXPECT_THAT(findings_of(w.bytes()), IsEmpty());
}

TEST(CompilerFindings, CountInstructionsThatTheCompilerRunsAgain) {
  HloWriter w;
  const ProtoWriter array = array_shape({8});
  const int64_t x = w.parameter(array);
  w.add("negate", array, {x});
  w.end("main");
  HloModule module = read_hlo_module(w.bytes());
  module.computations[0].instructions[1].name = "loop_fusion.3.remat2";
  EXPECT_THAT(
      to_texts(compiler_findings(module, {}, {})),
      ElementsAre("the compiler recomputes 1 instruction because memory is short: 1 negate"));
  module.computations[0].instructions[1].opcode = "bitcast";
  EXPECT_THAT(compiler_findings(module, {}, {}), IsEmpty());
}

}  // namespace
}  // namespace axle
