#include "base/error.h"
#include "ops/create.h"
#include "ops/movement/movement.h"
#include "testing/op_test.h"

namespace axle {
namespace {

using testing::counting;
using testing::elements;
using ::testing::ElementsAre;
using ::testing::IsNan;
using testing::run;

// Windows of one row and 2 columns, at positions (row, column) held by the last dim of the indices.
const GatherDims kPairs{
    .offset = {1}, .collapsed = {0}, .index_map = {0, 1}, .index_vector_dim = 1};

TEST(Gather, WindowsOutsideAreMovedInside) {
  const HostTensor x = counting({3, 4});
  const HostTensor at({4, 2}, {0, 1, 2, 0, 1, 3, 7, -5});
  const HostTensor y = run(
      [](const Values& v) {
        return gather(v[0], v[1], kPairs, {1, 2});
      },
      {x, at});
  EXPECT_EQ(y, HostTensor({4, 2}, {1.f, 2.f, 8.f, 9.f, 6.f, 7.f, 8.f, 9.f}));
}

TEST(Gather, IndexVectorDimMayComeFirst) {
  GatherDims dims = kPairs;
  dims.index_vector_dim = 0;
  dims.offset = {0};  // the dim within the window comes first
  const HostTensor at({2, 3}, {0, 2, 1, 1, 0, 2});
  const HostTensor y = run(
      [&](const Values& v) {
        return gather(v[0], v[1], dims, {1, 2});
      },
      {counting({3, 4}), at});
  EXPECT_EQ(y, HostTensor({2, 3}, {1.f, 8.f, 6.f, 2.f, 9.f, 7.f}));
}

TEST(Gather, BatchDimsAreIndexedTogether) {
  const GatherDims dims{.collapsed = {1},
                        .operand_batch = {0},
                        .indices_batch = {0},
                        .index_map = {1},
                        .index_vector_dim = 2};
  const HostTensor at({2, 3}, {0, 3, 1, 2, 2, 0});
  const HostTensor y = run(
      [&](const Values& v) {
        return gather(v[0], v[1], dims, {1, 1});
      },
      {counting({2, 4}), at});
  EXPECT_THAT(elements(y), ElementsAre(0, 3, 1, 6, 6, 4));
}

// jnp.take(x, indices, mode="fill"): negative indices count from the end.
TEST(Gather, FillsIndicesOutside) {
  const auto filled = [](const HostTensor& x, std::optional<Scalar> fill = {}) {
    return elements(run(
        [fill](const Values& v) {
          return take(v[0], from_end(v[1], 2), 0, {.mode = GatherMode::kFill, .fill = fill});
        },
        {x, HostTensor({3}, {5, -1, -3})}));
  };
  EXPECT_THAT(filled(HostTensor({2}, {1.f, 2.f})), ElementsAre(IsNan(), 2, IsNan()));
  EXPECT_THAT(filled(HostTensor({2}, {1.f, 2.f}), 7), ElementsAre(7, 2, 7));
  EXPECT_THAT(filled(HostTensor({2}, {int8_t{1}, int8_t{2}})), ElementsAre(-128, 2, -128));
  EXPECT_THAT(filled(HostTensor({2}, {uint8_t{1}, uint8_t{2}})), ElementsAre(255, 2, 255));
  EXPECT_THAT(filled(HostTensor({2}, {uint64_t{1}, uint64_t{2}}), 9), ElementsAre(9, 2, 9));
  EXPECT_THAT(filled(HostTensor({2}, {false, false})), ElementsAre(1, 0, 1));
}

TEST(Gather, FillsWholeWindows) {
  const HostTensor at({4, 2}, {0, 1, 2, 3, 3, 0, -1, 1});
  const HostTensor y = run(
      [](const Values& v) {
        return gather(v[0], v[1], kPairs, {1, 2}, {.mode = GatherMode::kFill, .fill = -1});
      },
      {counting({3, 4}), at});
  EXPECT_THAT(elements(y), ElementsAre(1, 2, -1, -1, -1, -1, -1, -1));
}

// The largest index of a narrow dtype may be less than the last position.
TEST(Gather, NarrowIndicesReachIntoLargeDims) {
  const HostTensor at({2}, {int8_t{127}, int8_t{-1}});
  const HostTensor y = run(
      [](const Values& v) { return take(v[0], v[1], 0, {.mode = GatherMode::kFill, .fill = -1}); },
      {counting({1000}), at});
  EXPECT_THAT(elements(y), ElementsAre(127, -1));
}

TEST(Gather, BadDimsAreErrors) {
  Region region;
  const TraceScope scope(region);
  const Tensor x = zeros({3, 4}), at = zeros({5, 2}, DType::kI32);
  EXPECT_THROW(gather(x, zeros({5, 2}), kPairs, {1, 2}), ShapeError);  // float indices
  EXPECT_THROW(gather(x, at, kPairs, {1, 5}), ShapeError);             // window too large
  EXPECT_THROW(gather(x, at, kPairs, {2, 2}), ShapeError);             // collapsed, but not 1
  EXPECT_THROW(gather(x, at, kPairs, {1}), ShapeError);                // a size is missing
  // Positions with 3 components instead of 2.
  EXPECT_THROW(gather(x, zeros({5, 3}, DType::kI32), kPairs, {1, 2}), ShapeError);
  GatherDims offset = kPairs, batch = kPairs;
  offset.offset = {7};
  batch.operand_batch = {1};
  EXPECT_THROW(gather(x, at, offset, {1, 2}), ShapeError);
  EXPECT_THROW(gather(x, at, batch, {1, 1}), ShapeError);
}

}  // namespace
}  // namespace axle
