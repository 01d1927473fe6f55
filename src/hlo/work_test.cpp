#include "hlo/work.h"

#include <gtest/gtest.h>

#include "hlo/proto_test.h"

namespace axle {
namespace {

constexpr DeviceRates kRates{.flops = 1000, .memory_bytes = 100};

DeviceWork work_of(const HloWriter& w) { return device_work(read_hlo_module(w.bytes()), kRates); }

ProtoWriter contracting(const std::vector<int64_t>& dims) {
  ProtoWriter numbers, out;
  return out.message(fields::kDotDimensionNumbers, numbers.packed(fields::kLhsContracting, dims));
}

TEST(DeviceWork, ProductsCountTwoFlopsForEachTerm) {
  HloWriter w;
  const int64_t x = w.parameter(array_shape({4, 8}), 0), y = w.parameter(array_shape({8, 16}), 1);
  w.add("dot", array_shape({4, 16}), {x, y}, contracting({1}));
  w.end("main");
  const DeviceWork work = work_of(w);
  EXPECT_EQ(work.product_flops, 2 * 4 * 8 * 16);
  EXPECT_EQ(work.memory_bytes, (4 * 8 + 8 * 16 + 4 * 16) * 4);
  EXPECT_DOUBLE_EQ(work.compute_seconds, 2 * 4 * 8 * 16 / 1000.0);
  EXPECT_DOUBLE_EQ(work.memory_seconds, (4 * 8 + 8 * 16 + 4 * 16) * 4 / 100.0);
  EXPECT_DOUBLE_EQ(work.seconds, work.memory_seconds);
  EXPECT_FALSE(work.is_lower_bound);
}

TEST(DeviceWork, LibraryCallsCountTheirContractedDims) {
  HloWriter w;
  const int64_t x = w.parameter(array_shape({4, 8}), 0), y = w.parameter(array_shape({8, 16}), 1);
  ProtoWriter call;
  call.bytes(fields::kCustomCallTarget, "__cublas$lt$matmul")
      .bytes(fields::kBackendConfig, R"({"gemm_backend_config":{"dot_dimension_numbers":
                    {"lhs_contracting_dimensions":["1"]}}})");
  const ProtoWriter result = tuple_shape({array_shape({4, 16}), array_shape({64}, fields::kS8)});
  w.add("custom-call", result, {x, y}, call);
  w.end("main");
  EXPECT_EQ(work_of(w).product_flops, 2 * 4 * 8 * 16);
}

// A window of 3 slides over 8 positions with a padding of one at each end. At both ends it covers
// only 2 elements of the input.
TEST(DeviceWork, ConvolutionsIgnorePaddingInTheirWindows) {
  ProtoWriter dim, window, numbers, more;
  window.message(fields::kWindowDimensions, dim.varint(fields::kSize, 3)
                                                .varint(fields::kStride, 1)
                                                .varint(fields::kPaddingLow, 1)
                                                .varint(fields::kPaddingHigh, 1)
                                                .varint(fields::kWindowDilation, 1)
                                                .varint(fields::kBaseDilation, 1));
  numbers.varint(fields::kKernelInputFeature, 1)
      .packed(fields::kKernelSpatial, {0})
      .packed(fields::kInputSpatial, {1})
      .packed(fields::kOutputSpatial, {1});
  HloWriter w;
  const int64_t x = w.parameter(array_shape({2, 8, 5}), 0),
                k = w.parameter(array_shape({3, 5, 7}), 1);
  w.add(
      "convolution", array_shape({2, 8, 7}), {x, k},
      more.message(fields::kWindow, window).message(fields::kConvolutionDimensionNumbers, numbers));
  w.end("main");
  EXPECT_EQ(work_of(w).product_flops, 2 * 2 * 7 * 5 * (3 * 8 - 2));
}

TEST(DeviceWork, LoopsCountInEachIteration) {
  HloWriter w;
  const ProtoWriter array = array_shape({8, 8}), state = tuple_shape({array});
  const int64_t inner = w.parameter(state), x = w.element(inner, 0, array);
  const int64_t y = w.add("dot", array, {x, x}, contracting({1}));
  w.add("tuple", state, {y});
  const int64_t body = w.end("body");
  w.parameter(state);
  w.add("constant", array_shape({}, fields::kPred));
  const int64_t condition = w.end("condition");
  const int64_t p = w.parameter(state);
  ProtoWriter loop = calls({body, condition}), unknown = loop;
  const int64_t known =
      w.add("while", state, {p},
            loop.bytes(fields::kBackendConfig, R"({"known_trip_count":{"n":"12"}})"));
  w.add("while", state, {known}, unknown);
  w.end("main");
  const DeviceWork work = work_of(w);
  EXPECT_EQ(work.product_flops, 13 * 2 * 8 * 8 * 8);
  EXPECT_TRUE(work.is_lower_bound);
}

// The stacked weights of all layers are operands of a fusion that reads one row and updates one
// row.
TEST(DeviceWork, FusionsReadAndWriteWhatTheyUse) {
  HloWriter w;
  const ProtoWriter whole = array_shape({10, 8}), row = array_shape({1, 8}),
                    index = array_shape({}, fields::kS32);
  const int64_t a = w.parameter(whole, 0), b = w.parameter(whole, 1), i = w.parameter(index, 2);
  const int64_t part = w.add("dynamic-slice", row, {a, i, i});
  w.add("dynamic-update-slice", whole, {b, part, i, i});
  const int64_t fused = w.end("fused", true);
  const int64_t x = w.parameter(whole, 0), y = w.parameter(whole, 1), n = w.parameter(index, 2);
  w.add("fusion", whole, {x, y, n}, calls({fused}));
  w.end("main");
  // The fusion reads one row and writes one row, and reads the index at most once per use.
  EXPECT_GE(work_of(w).memory_bytes, 2 * 8 * 4);
  EXPECT_LE(work_of(w).memory_bytes, 2 * 8 * 4 + 4 * 4);
}

// As above, but the stacks have another form within the fusion, and it has two results.
TEST(DeviceWork, FusionsReadPartsThroughOtherForms) {
  HloWriter w;
  const ProtoWriter whole = array_shape({10, 8}), form = array_shape({10, 2, 4}),
                    row = array_shape({1, 2, 4}), pair = tuple_shape({form, row}),
                    index = array_shape({}, fields::kS32);
  const int64_t a = w.parameter(whole, 0), b = w.parameter(whole, 1), i = w.parameter(index, 2);
  const int64_t part = w.add("dynamic-slice", row, {w.add("bitcast", form, {a}), i, i, i});
  const int64_t stack = w.add("bitcast", form, {b});
  const int64_t updated = w.add("dynamic-update-slice", form, {stack, part, i, i, i});
  w.add("tuple", pair, {updated, part});
  const int64_t fused = w.end("fused", true);
  const int64_t x = w.parameter(whole, 0), y = w.parameter(whole, 1), n = w.parameter(index, 2);
  w.add("fusion", pair, {x, y, n}, calls({fused}));
  w.end("main");
  // It reads one row and writes two.
  EXPECT_GE(work_of(w).memory_bytes, 3 * 8 * 4);
  EXPECT_LE(work_of(w).memory_bytes, 3 * 8 * 4 + 6 * 4);
}

// On TPUs a fusion may contain another one, which reads the row.
TEST(DeviceWork, FusionsReadWhatFusionsInsideOfThemUse) {
  HloWriter w;
  const ProtoWriter whole = array_shape({10, 8}), row = array_shape({1, 8}),
                    index = array_shape({}, fields::kS32);
  const int64_t a = w.parameter(whole, 0), i = w.parameter(index, 1);
  w.add("dynamic-slice", row, {a, i, i});
  const int64_t inner = w.end("inner", true);
  const int64_t b = w.parameter(whole, 0), j = w.parameter(index, 1);
  w.add("negate", row, {w.add("fusion", row, {b, j}, calls({inner}))});
  const int64_t outer = w.end("outer", true);
  const int64_t x = w.parameter(whole, 0), n = w.parameter(index, 1);
  w.add("fusion", row, {x, n}, calls({outer}));
  w.end("main");
  // It reads one row and writes one, and reads the index.
  EXPECT_GE(work_of(w).memory_bytes, 2 * 8 * 4);
  EXPECT_LE(work_of(w).memory_bytes, 2 * 8 * 4 + 4 * 4);
}

// A fusion whose result is the whole operand in another type reads all of it.
TEST(DeviceWork, FusionsThatConvertReadTheWholeOperand) {
  HloWriter w;
  const ProtoWriter f32 = array_shape({10, 8}), s32 = array_shape({10, 8}, fields::kS32);
  w.add("convert", s32, {w.parameter(f32)});
  const int64_t fused = w.end("fused", true);
  w.add("fusion", s32, {w.parameter(f32)}, calls({fused}));
  w.end("main");
  EXPECT_EQ(work_of(w).memory_bytes, 2 * 80 * 4);
}

TEST(DeviceWork, InstructionsThatOnlyRenameValuesAreFree) {
  HloWriter w;
  const ProtoWriter array = array_shape({8}), pair = tuple_shape({array, array});
  const int64_t x = w.parameter(array), both = w.add("tuple", pair, {x, x});
  w.add("bitcast", array_shape({2, 4}), {w.element(both, 1, array)});
  w.end("main");
  EXPECT_EQ(work_of(w).memory_bytes, 0);
  EXPECT_EQ(work_of(w).seconds, 0);
}

}  // namespace
}  // namespace axle
