#include "hlo/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hlo/proto_test.h"

namespace axle {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

PeakMemory peak_of(const HloWriter& w) { return peak_memory(read_hlo_module(w.bytes())); }

const ProtoWriter kArray = array_shape({256});  // 1 KiB of f32
constexpr int64_t kKiB = 1024;

TEST(PeakMemory, CountsWhatIsAliveAtOnce) {
  HloWriter w;
  const int64_t x = w.parameter(kArray);
  const int64_t a = w.add("sine", kArray, {x}, op_name("model/up/sin"));
  const int64_t b = w.add("sine", kArray, {a}, op_name("backward/model/down/sin"));
  const int64_t c = w.add("add", kArray, {a, b}, op_name("model/add"));
  const int64_t d = w.add("sine", kArray, {c});
  w.add("negate", kArray, {d});
  w.end("main");
  const PeakMemory peak = peak_of(w);
  EXPECT_EQ(peak.bytes, 3 * kKiB);  // a, b and their sum c, which reuses the memory of neither
  ASSERT_THAT(peak.temporaries, SizeIs(3));
  EXPECT_EQ(peak.temporaries[0].count, 1);
  EXPECT_EQ(peak.temporaries[0].shape, "f32[256]");
  bool backward = false;
  for (const TemporaryBuffer& one : peak.temporaries)
    backward |= one.backward && one.layer == "model/down";
  EXPECT_TRUE(backward);
}

TEST(PeakMemory, ArgumentsResultsAndViewsAreLeftOut) {
  HloWriter w;
  const int64_t x = w.parameter(kArray);
  const int64_t view = w.add("bitcast", array_shape({16, 16}), {x});
  w.add("sine", array_shape({16, 16}), {view});
  w.end("main");
  EXPECT_EQ(peak_of(w).bytes, 0);
  EXPECT_THAT(peak_of(w).temporaries, IsEmpty());
}

// A stack that a loop fills counts once, in addition to the temporaries of one iteration.
TEST(PeakMemory, LoopsCountTheirCarriedValuesOnce) {
  HloWriter w;
  const ProtoWriter stack = array_shape({8, 256}), index = array_shape({}, fields::kS32),
                    state = tuple_shape({index, stack});
  const int64_t p = w.parameter(state), i = w.element(p, 0, index), all = w.element(p, 1, stack);
  const int64_t one = w.add("sine", kArray, {i}, op_name("model/layers/layer/sin"));
  const int64_t two = w.add("sine", kArray, {one}, op_name("model/layers/layer/sin"));
  const int64_t put = w.add("dynamic-update-slice", stack, {all, two, i, i});
  w.add("tuple", state, {i, put});
  const int64_t body = w.end("body");
  w.parameter(state);
  w.add("constant", array_shape({}, fields::kPred));
  const int64_t condition = w.end("condition");
  const int64_t start = w.parameter(index), zero = w.add("constant", array_shape({}));
  const int64_t empty = w.add("broadcast", stack, {zero}, op_name("model/layers/scan"));
  const int64_t init = w.add("tuple", state, {start, empty});
  const int64_t loop = w.add("while", state, {init}, calls({body, condition}));
  w.add("sine", stack, {w.element(loop, 1, stack)});
  w.end("main");
  const PeakMemory peak = peak_of(w);
  EXPECT_EQ(peak.bytes, 8 * kKiB + 2 * kKiB);
  ASSERT_THAT(peak.temporaries, SizeIs(2));
  EXPECT_EQ(peak.temporaries[0].bytes, 8 * kKiB);
  EXPECT_EQ(peak.temporaries[0].layer, "model/layers/layer") << "that of what the loop writes";
  EXPECT_EQ(peak.temporaries[0].op, "sin");
  EXPECT_EQ(peak.temporaries[1].bytes, 2 * kKiB);
  EXPECT_EQ(peak.temporaries[1].count, 2);
}

// A stack of what enters each layer: it holds values of the carry, which the layer before has made.
// The compiler names its zeros after themselves.
TEST(PeakMemory, StackOfTheCarryBelongsToTheLayerThatComputesIt) {
  HloWriter w;
  const ProtoWriter stack = array_shape({8, 256}), index = array_shape({}, fields::kS32),
                    state = tuple_shape({index, kArray, stack});
  const int64_t p = w.parameter(state), i = w.element(p, 0, index), x = w.element(p, 1, kArray),
                all = w.element(p, 2, stack);
  const int64_t put = w.add("dynamic-update-slice", stack, {all, x, i, i}, op_name("model/scan"));
  const int64_t y = w.add("sine", kArray, {x}, op_name("model/layers/layer/sin"));
  w.add("tuple", state, {i, y, put});
  const int64_t body = w.end("body");
  w.parameter(state);
  w.add("constant", array_shape({}, fields::kPred));
  const int64_t condition = w.end("condition");
  const int64_t start = w.parameter(index), first = w.parameter(kArray),
                zero = w.add("constant", array_shape({}));
  const int64_t empty = w.add("broadcast", stack, {zero}, op_name("broadcast.142"));
  const int64_t init = w.add("tuple", state, {start, first, empty});
  const int64_t loop = w.add("while", state, {init}, calls({body, condition}));
  w.add("sine", stack, {w.element(loop, 2, stack)});
  w.end("main");
  const PeakMemory peak = peak_of(w);
  ASSERT_FALSE(peak.temporaries.empty());
  EXPECT_EQ(peak.temporaries[0].shape, "f32[8,256]");
  EXPECT_EQ(peak.temporaries[0].layer, "model/layers/layer");
}

// The sum of gradients of several microbatches, and their mean, have the layer of the summands.
TEST(PeakMemory, SumsInALoopBelongToTheLayerOfTheSummands) {
  HloWriter w;
  const ProtoWriter index = array_shape({}, fields::kS32), state = tuple_shape({index, kArray});
  const int64_t p = w.parameter(state), i = w.element(p, 0, index), sum = w.element(p, 1, kArray);
  const int64_t gradient = w.add("sine", kArray, {i}, op_name("model/layers/up/dot_general"));
  w.add("tuple", state, {i, w.add("add", kArray, {sum, gradient}, op_name("model/add"))});
  const int64_t body = w.end("body");
  w.parameter(state);
  w.add("constant", array_shape({}, fields::kPred));
  const int64_t condition = w.end("condition");
  const int64_t start = w.parameter(index), zero = w.add("constant", array_shape({}));
  const int64_t empty = w.add("broadcast", kArray, {zero}, op_name("broadcast.7"));
  const int64_t loop =
      w.add("while", state, {w.add("tuple", state, {start, empty})}, calls({body, condition}));
  const int64_t mean = w.add("divide", kArray, {w.element(loop, 1, kArray)}, op_name("model/div"));
  w.add("sine", kArray, {mean}, op_name("learner/sin"));
  w.end("main");
  const PeakMemory peak = peak_of(w);
  ASSERT_FALSE(peak.temporaries.empty());
  for (const TemporaryBuffer& one : peak.temporaries) EXPECT_EQ(one.layer, "model/layers/up");
}

TEST(PeakMemory, UnnamedValuesBelongToTheLayerOfTheirReader) {
  HloWriter w;
  const int64_t x = w.parameter(kArray);
  const int64_t cast = w.add("convert", array_shape({256}, fields::kBF16), {x});
  const int64_t y = w.add("sine", kArray, {cast}, op_name("model/up/sin"));
  w.add("negate", kArray, {y}, op_name("model/neg"));
  w.end("main");
  const PeakMemory peak = peak_of(w);
  ASSERT_THAT(peak.temporaries, SizeIs(2));
  EXPECT_EQ(peak.temporaries[1].shape, "bf16[256]");
  EXPECT_EQ(peak.temporaries[1].layer, "model/up");
}

// XLA names a copy behind a barrier like the barrier, whose operands belong to many layers.
TEST(PeakMemory, CopiesAfterABarrierKeepTheirOwnLayers) {
  HloWriter w;
  const ProtoWriter pair = tuple_shape({kArray, kArray});
  const int64_t x = w.parameter(kArray);
  const int64_t up = w.add("sine", kArray, {x}, op_name("model/up/sin"));
  const int64_t down = w.add("sine", kArray, {x}, op_name("backward/model/down/sin"));
  const int64_t barrier = w.add("optimization-barrier", pair, {w.add("tuple", pair, {up, down})},
                                op_name("opt-barrier.3"));
  const int64_t first =
      w.add("copy", kArray, {w.element(barrier, 0, kArray)}, op_name("opt-barrier.3"));
  const int64_t second =
      w.add("copy", kArray, {w.element(barrier, 1, kArray)}, op_name("opt-barrier.3"));
  w.add("sine", array_shape({1}), {first, second});
  w.end("main");
  std::vector<std::string> found;
  for (const TemporaryBuffer& one : peak_of(w).temporaries)
    found.push_back(one.layer + (one.backward ? " backward " : " forward ") + one.op);
  EXPECT_THAT(found,
              ::testing::UnorderedElementsAre("model/up forward sin", "model/down backward sin"));
}

TEST(PeakMemory, AsynchronousOpsHoldTheirResults) {
  HloWriter w;
  const ProtoWriter gathered = array_shape({1024});
  const int64_t x = w.parameter(kArray);
  const int64_t start = w.add("all-gather-start", tuple_shape({kArray, gathered}), {x});
  const int64_t done = w.add("all-gather-done", gathered, {start});
  w.add("sine", array_shape({1}), {done});
  w.end("main");
  EXPECT_EQ(peak_of(w).bytes, 4 * kKiB);
}

// The workspace of a call is freed before the result, although both are elements of one tuple.
TEST(PeakMemory, ElementsOfATupleHaveSeparateLifetimes) {
  HloWriter w;
  const ProtoWriter workspace = array_shape({4096}), both = tuple_shape({kArray, workspace});
  const int64_t x = w.parameter(kArray);
  const int64_t one = w.add("custom-call", both, {x}), two = w.add("custom-call", both, {x});
  const int64_t first = w.element(one, 0, kArray), second = w.element(two, 0, kArray);
  w.add("sine", array_shape({1}), {first, second});
  w.end("main");
  EXPECT_EQ(peak_of(w).bytes, 16 * kKiB + 2 * kKiB);
}

TEST(PeakMemory, OtherMemorySpacesDoNotCount) {
  ProtoWriter layout, on_chip = array_shape({256});
  on_chip.message(fields::kLayout, layout.varint(fields::kMemorySpace, 1));
  HloWriter w;
  const int64_t x = w.parameter(kArray);
  const int64_t near = w.add("copy", on_chip, {x});
  w.add("sine", kArray, {near});
  w.end("main");
  EXPECT_EQ(peak_of(w).bytes, 0);
}

}  // namespace
}  // namespace axle
