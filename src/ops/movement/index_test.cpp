#include "base/error.h"
#include "ops/create.h"
#include "ops/movement/movement.h"
#include "testing/op_test.h"

namespace axle {
namespace {

using testing::counting;
using testing::elements;
using ::testing::ElementsAre;
using testing::run;

TEST(Index, TakeReplacesTheAxis) {
  const HostTensor x = counting({3, 4});
  const HostTensor ids({2, 2}, {2, 0, 1, 9});  // 9 is clamped to 2
  const HostTensor rows = run([](const Values& v) { return take(v[0], v[1], 0); }, {x, ids});
  EXPECT_EQ(rows.shape(), (Shape{2, 2, 4}));
  EXPECT_THAT(elements(rows), ElementsAre(8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  const HostTensor columns =
      run([](const Values& v) { return take(v[0], v[1], -1); }, {x, HostTensor({2}, {3, -4})});
  EXPECT_EQ(columns, HostTensor({3, 2}, {3.f, 0.f, 7.f, 4.f, 11.f, 8.f}));
  EXPECT_EQ(run([](const Values& v) { return take(v[0], v[1]); }, {x, HostTensor::scalar(1)}),
            HostTensor({4}, {4.f, 5.f, 6.f, 7.f}));
}

TEST(Index, AlongAxis) {
  const HostTensor x = counting({2, 3}), at({2, 2}, {2, 0, 1, 1});
  EXPECT_THAT(
      elements(run([](const Values& v) { return take_along_axis(v[0], v[1], 1); }, {x, at})),
      ElementsAre(2, 0, 4, 4));
  const HostTensor added = run([](const Values& v) { return add_along_axis(v[0], v[1], v[2], 1); },
                               {x, at, HostTensor::ones({2, 2})});
  EXPECT_THAT(elements(added), ElementsAre(1, 1, 3, 3, 6, 5));
  const HostTensor first({1, 3}, {1, 0, 1});
  EXPECT_THAT(
      elements(run([](const Values& v) { return take_along_axis(v[0], v[1], 0); }, {x, first})),
      ElementsAre(3, 1, 5));
}

TEST(Index, UpdatesAtSlices) {
  const HostTensor x = counting({2, 3}), at({2}, {2, 0}), updates({2, 2}, {10.f, -1.f, 2.f, 7.f});
  const auto updated = [&](auto f) {
    return elements(
        run([f](const Values& v) { return f(v[0], v[1], v[2], 1, {}); }, {x, at, updates}));
  };
  EXPECT_THAT(updated(add_at), ElementsAre(-1, 1, 12, 10, 4, 7));
  EXPECT_THAT(updated(multiply_at), ElementsAre(0, 1, 20, 21, 4, 10));
  EXPECT_THAT(updated(min_at), ElementsAre(-1, 1, 2, 3, 4, 2));
  EXPECT_THAT(updated(max_at), ElementsAre(0, 1, 10, 7, 4, 5));
  EXPECT_THAT(updated(set_at), ElementsAre(-1, 1, 10, 7, 4, 2));
  const HostTensor each({2, 2}, {2, 0, 1, -3});  // the last one is from the end
  EXPECT_THAT(
      elements(run([](const Values& v) { return set_along_axis(v[0], from_end(v[1], 3), v[2], 1); },
                   {x, each, updates})),
      ElementsAre(-1, 1, 10, 7, 2, 5));
}

TEST(Index, BatchedTakeReadsRowsOfItsOwnBatchElement) {
  const HostTensor x = counting({2, 3, 2});  // x[b, n] = {6 b + 2 n, 6 b + 2 n + 1}
  const HostTensor pairs({2, 2}, {2, 0, 1, 9});
  const HostTensor y = run([](const Values& v) { return batched_take(v[0], v[1]); }, {x, pairs});
  EXPECT_EQ(y.shape(), (Shape{2, 2, 2}));
  EXPECT_THAT(elements(y), ElementsAre(4, 5, 0, 1, 8, 9, 10, 11));
  const HostTensor one_each =
      run([](const Values& v) { return batched_take(v[0], v[1]); }, {x, HostTensor({2}, {1, 0})});
  EXPECT_EQ(one_each, HostTensor({2, 2}, {2.f, 3.f, 6.f, 7.f}));
  const HostTensor two_dims = run([](const Values& v) { return batched_take(v[0], v[1], 2); },
                                  {x, HostTensor({2, 3}, {0, 1, 0, 1, 1, 0})});
  EXPECT_THAT(elements(two_dims), ElementsAre(0, 3, 4, 7, 9, 10));
}

TEST(Index, BatchedPutRowsWritesEachBatchElementFromItsOwnStart) {
  const HostTensor updates({2, 2, 1}, {-1.f, -2.f, -3.f, -4.f});
  const auto put = [&](const HostTensor& starts) {
    return elements(run([](const Values& v) { return batched_put_rows(v[0], v[1], v[2]); },
                        {counting({2, 3, 1}), starts, updates}));
  };
  EXPECT_THAT(put(HostTensor({2}, {1, 0})), ElementsAre(0, -1, -2, -3, -4, 5));
  EXPECT_THAT(put(HostTensor({2}, {2, 1})), ElementsAre(0, 1, 2, 3, -3, -4)) << "one is dropped";
}

TEST(Index, OneHot) {
  const HostTensor y = run([](const Values& v) { return one_hot(v[0], 3, DType::kBF16); },
                           {HostTensor({3}, {1, 3, -1})});
  EXPECT_EQ(y.dtype(), DType::kBF16);
  EXPECT_THAT(elements(y), ElementsAre(0, 1, 0, 0, 0, 0, 0, 0, 0));
}

TEST(DynamicSlice, SliceOutsideIsMovedInside) {
  const HostTensor x = counting({4, 3});
  const auto at = [&](int32_t i, int32_t j) {
    return elements(run(
        [](const Values& v) {
          return dynamic_slice(v[0], {v[1], v[2]}, {2, 2});
        },
        {x, HostTensor::scalar(i), HostTensor::scalar(j)}));
  };
  EXPECT_THAT(at(1, 0), ElementsAre(3, 4, 6, 7));
  EXPECT_THAT(at(9, -9), ElementsAre(6, 7, 9, 10));
}

TEST(DynamicSlice, UpdateIsMovedInside) {
  const HostTensor y = run(
      [](const Values& v) {
        return dynamic_update_slice(v[0], v[1], {v[2], v[3]});
      },
      {counting({3, 3}), HostTensor({2, 1}, {-1.f, -2.f}), HostTensor::scalar(5),
       HostTensor::scalar(1)});
  EXPECT_THAT(elements(y), ElementsAre(0, 1, 2, 3, -1, 5, 6, -2, 8));
}

TEST(DynamicSlice, WorksInOneDim) {
  const HostTensor x = counting({2, 3}), one = HostTensor::scalar(int32_t{1});
  EXPECT_THAT(elements(run([](const Values& v) { return dynamic_slice_in_dim(v[0], v[1], 2, -1); },
                           {x, one})),
              ElementsAre(1, 2, 4, 5));
  const HostTensor row =
      run([](const Values& v) { return dynamic_index_in_dim(v[0], v[1], 0); }, {x, one});
  EXPECT_EQ(row, HostTensor({3}, {3.f, 4.f, 5.f}));
  const HostTensor update({2}, {-1.f, -2.f});
  EXPECT_THAT(
      elements(run([](const Values& v) { return dynamic_update_index_in_dim(v[0], v[1], v[2], 1); },
                   {x, update, one})),
      ElementsAre(0, -1, 2, 3, -2, 5));
  EXPECT_THAT(
      elements(run([](const Values& v) { return dynamic_update_slice_in_dim(v[0], v[1], v[2], 0); },
                   {x, HostTensor::zeros({1, 3}), one})),
      ElementsAre(0, 1, 2, 0, 0, 0));
}

TEST(DynamicSlice, Rolls) {
  const auto rolled = [](int32_t shift) {
    return elements(run([](const Values& v) { return dynamic_roll(v[0], v[1], 1); },
                        {counting({2, 3}), HostTensor::scalar(shift)}));
  };
  EXPECT_THAT(rolled(1), ElementsAre(2, 0, 1, 5, 3, 4));
  EXPECT_THAT(rolled(-1), ElementsAre(1, 2, 0, 4, 5, 3));
  EXPECT_THAT(rolled(-5), ElementsAre(2, 0, 1, 5, 3, 4));
  EXPECT_THAT(rolled(6), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(Index, BadShapesAreErrors) {
  Region region;
  const TraceScope scope(region);
  const Tensor x = zeros({3, 4}), i = scalar(0, DType::kI32);
  EXPECT_THROW(take(x, i, 2), ShapeError);
  EXPECT_THROW(take_along_axis(x, zeros({2, 2}, DType::kI32), 1), ShapeError);
  EXPECT_THROW(dynamic_slice(x, {i}, {1, 1}), ShapeError);
  EXPECT_THROW(dynamic_slice(x, {i, i}, {4, 1}), ShapeError);
  EXPECT_THROW(dynamic_slice(x, {i, scalar(0, DType::kU32)}, {1, 1}), ShapeError);
  EXPECT_THROW(dynamic_update_slice(x, zeros({1, 1}, DType::kBF16), {i, i}), ShapeError);
  EXPECT_THROW(dynamic_update_index_in_dim(x, zeros({3}), i, 0), ShapeError);
}

}  // namespace
}  // namespace axle
