#include "ops/movement/gather.h"
#include "ops/movement/scatter.h"

#include "base/error.h"
#include "ops/create.h"
#include "testing/op_test.h"

namespace axle {
namespace {

using testing::counting;
using testing::elements;
using ::testing::ElementsAre;
using testing::run;

// Windows of one row and 2 columns, at positions (row, column) held by the last dim of the indices.
const WindowDims kPairs{
    .offset = {1}, .collapsed = {0}, .index_map = {0, 1}, .index_vector_dim = 1};

TEST(Gather, TakesWindowsAndMovesThemInside) {
  const HostTensor x = counting({3, 4});
  const HostTensor at({4, 2}, {0, 1, 2, 0, 1, 3, 7, -5});
  const HostTensor y = run(
      [](const Values& v) {
        return gather(v[0], v[1], kPairs, {1, 2});
      },
      {x, at});
  EXPECT_EQ(y, HostTensor({4, 2}, {1.f, 2.f, 8.f, 9.f, 6.f, 7.f, 8.f, 9.f}));
}

TEST(Gather, ComponentsMayStandInFront) {
  WindowDims dims = kPairs;
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

TEST(Gather, BatchDimsAreWalkedTogether) {
  const WindowDims dims{.collapsed = {1},
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

TEST(Scatter, AddsUpAndDropsWhatReachesOutside) {
  const HostTensor at({4, 2}, {0, 0, 0, 1, 1, 3, 2, 2});  // the third window reaches outside
  const HostTensor updates = HostTensor::ones({4, 2});
  const HostTensor y = run([](const Values& v) { return scatter_add(v[0], v[1], v[2], kPairs); },
                           {HostTensor::zeros({3, 4}), at, updates});
  EXPECT_THAT(elements(y), ElementsAre(1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1));
}

TEST(Scatter, Replaces) {
  const HostTensor at({2, 2}, {0, 2, 2, 0});
  const HostTensor updates({2, 2}, {-1.f, -2.f, -3.f, -4.f});
  const HostTensor y = run([](const Values& v) { return scatter(v[0], v[1], v[2], kPairs); },
                           {counting({3, 4}), at, updates});
  EXPECT_THAT(elements(y), ElementsAre(0, 1, -1, -2, 4, 5, 6, 7, -3, -4, 10, 11));
}

// scatter_add is the transpose of the gather with the same dims.
TEST(Scatter, IsTheTransposeOfGather) {
  const HostTensor at({3, 2}, {0, 1, 2, 0, 0, 2});
  const HostTensor x = counting({3, 4}), u = counting({3, 2});
  const HostTensor gathered = run(
      [](const Values& v) {
        return gather(v[0], v[1], kPairs, {1, 2});
      },
      {x, at});
  const HostTensor scattered =
      run([](const Values& v) { return scatter_add(v[0], v[1], v[2], kPairs); },
          {HostTensor::zeros({3, 4}), at, u});
  double left = 0, right = 0;
  for (int64_t i = 0; i < u.size(); ++i) left += gathered.at(i) * u.at(i);
  for (int64_t i = 0; i < x.size(); ++i) right += x.at(i) * scattered.at(i);
  EXPECT_EQ(left, right);
  EXPECT_NE(left, 0);
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
  WindowDims offset = kPairs, batch = kPairs;
  offset.offset = {7};
  batch.operand_batch = {1};
  EXPECT_THROW(gather(x, at, offset, {1, 2}), ShapeError);
  EXPECT_THROW(gather(x, at, batch, {1, 1}), ShapeError);
  // Updates with a wrong number of positions, then with a wrong dtype.
  EXPECT_THROW(scatter_add(x, at, zeros({4, 2}), kPairs), ShapeError);
  EXPECT_THROW(scatter_add(x, at, zeros({5, 2}, DType::kBF16), kPairs), ShapeError);
}

}  // namespace
}  // namespace axle
