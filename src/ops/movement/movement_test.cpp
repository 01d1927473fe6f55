// Shapes and slices.
#include <gmock/gmock.h>

#include "ops/ops.h"
#include "testing/error_without_lines.h"
#include "testing/host_tensors.h"
#include "testing/op_test.h"

namespace axle {
namespace {

using testing::counting;
using testing::elements;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::run;
using testing::run_all;

Shape shape_of(const std::function<Tensor(const Tensor&)>& fn, const Shape& shape) {
  return run([&](const Values& v) { return fn(v[0]); }, {counting(shape)}).shape();
}

std::string error_of_move(const std::function<Tensor(const Tensor&)>& fn, const Shape& shape) {
  return axle::error_without_lines<ShapeError>([&] { shape_of(fn, shape); });
}

TEST(Shape, ReshapeFillsInOneDim) {
  EXPECT_EQ(shape_of([](const Tensor& x) { return reshape(x, {2, -1}); }, {3, 4}), (Shape{2, 6}));
  EXPECT_THAT(error_of_move(
                  [](const Tensor& x) {
                    return reshape(x, {5, -1});
                  },
                  {3, 4}),
              HasSubstr("reshape: expected at most one -1"));
  EXPECT_THAT(error_of_move(
                  [](const Tensor& x) {
                    return reshape(x, {-1, -1});
                  },
                  {3, 4}),
              HasSubstr("reshape: expected at most one -1"));
  EXPECT_THAT(error_of_move([](const Tensor& x) { return reshape(x, {5}); }, {3, 4}),
              HasSubstr("expected 12 elements, got [5]"));
}

TEST(Shape, AxesMove) {
  EXPECT_EQ(shape_of([](const Tensor& x) { return swap_axes(x, 0, -1); }, {2, 3, 4}),
            (Shape{4, 3, 2}));
  EXPECT_EQ(shape_of([](const Tensor& x) { return move_axis(x, 0, -1); }, {2, 3, 4}),
            (Shape{3, 4, 2}));
  EXPECT_EQ(shape_of([](const Tensor& x) { return move_axis(x, 2, 0); }, {2, 3, 4}),
            (Shape{4, 2, 3}));
  EXPECT_THAT(elements(run(
                  [](const Values& v) {
                    return transpose(v[0], {1, 0});
                  },
                  {counting({2, 3})})),
              ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(error_of_move(
                  [](const Tensor& x) {
                    return transpose(x, {0, 0});
                  },
                  {2, 3}),
              HasSubstr("expected a permutation of 2 dims"));
  EXPECT_THAT(error_of_move([](const Tensor& x) { return swap_axes(x, 0, 2); }, {2, 3}),
              HasSubstr("expected an axis of 2 dims, got 2"));
}

TEST(Shape, DimsAreAddedRemovedAndMerged) {
  EXPECT_EQ(shape_of([](const Tensor& x) { return squeeze(x, {0, -1}); }, {1, 3, 1}), (Shape{3}));
  EXPECT_THAT(error_of_move([](const Tensor& x) { return squeeze(x, {1}); }, {1, 3}),
              HasSubstr("expected dim 1 of size 1, got 3"));
  EXPECT_EQ(shape_of([](const Tensor& x) { return expand_dims(x, -1); }, {2, 3}), (Shape{2, 3, 1}));
  EXPECT_EQ(shape_of([](const Tensor& x) { return expand_dims(x, 0); }, {2, 3}), (Shape{1, 2, 3}));
  EXPECT_EQ(shape_of([](const Tensor& x) { return flatten(x, 1); }, {2, 3, 4}), (Shape{2, 12}));
  EXPECT_EQ(shape_of(
                [](const Tensor& x) {
                  return unflatten(x, -1, {2, -1});
                },
                {3, 8}),
            (Shape{3, 2, 4}));
  EXPECT_EQ(shape_of([](const Tensor& x) { return flatten(x); }, {}), (Shape{1}));
}

TEST(Shape, IdentitiesEmitNoOps) {
  run(
      [](const Values& v) {
        EXPECT_TRUE(same(reshape(v[0], {2, 3}), v[0]));
        EXPECT_TRUE(same(transpose(v[0], {0, 1}), v[0]));
        EXPECT_TRUE(same(slice(v[0], {0, 0}, {2, 3}), v[0]));
        EXPECT_TRUE(same(pad(v[0], 0, {0, 0}, {0, 0}), v[0]));
        EXPECT_TRUE(same(broadcast_to(v[0], {2, 3}), v[0]));
        EXPECT_TRUE(same(astype(v[0], DType::kF32), v[0]));
        return v[0];
      },
      {counting({2, 3})});
}

TEST(Slice, PositionsCountFromEitherEnd) {
  const HostTensor x = counting({3, 4});
  EXPECT_THAT(elements(run([](const Values& v) { return slice_in_dim(v[0], 1, -3, -1); }, {x})),
              ElementsAre(1, 2, 5, 6, 9, 10));
  EXPECT_THAT(elements(run([](const Values& v) { return slice_in_dim(v[0], 1, 1, 4, 2); }, {x})),
              ElementsAre(1, 3, 5, 7, 9, 11));
  EXPECT_THAT(elements(run([](const Values& v) { return index_in_dim(v[0], 0, -1); }, {x})),
              ElementsAre(8, 9, 10, 11));
  EXPECT_THAT(error_of_move([](const Tensor& t) { return slice_in_dim(t, 0, 2, 5); }, {3, 4}),
              HasSubstr("slice: expected 0 <= start <= limit <= size"));
}

TEST(Slice, PadAddsCutsAndSpreads) {
  const HostTensor x = counting({4});
  const auto padded = [&](int64_t low, int64_t high, int64_t interior) {
    return elements(
        run([&](const Values& v) { return pad(v[0], 9, {low}, {high}, {interior}); }, {x}));
  };
  EXPECT_THAT(padded(1, 2, 0), ElementsAre(9, 0, 1, 2, 3, 9, 9));
  EXPECT_THAT(padded(-1, -2, 0), ElementsAre(1));
  EXPECT_THAT(padded(0, 0, 1), ElementsAre(0, 9, 1, 9, 2, 9, 3));
  EXPECT_THAT(padded(-1, -2, 1), ElementsAre(9, 1, 9, 2));
  EXPECT_THAT(padded(-3, 1, 2), ElementsAre(1, 9, 9, 2, 9, 9, 3, 9));
  EXPECT_THAT(padded(-4, 3, 0), ElementsAre(9, 9, 9));
  EXPECT_THAT(error_of_move([](const Tensor& t) { return pad(t, 0, {-3}, {-3}); }, {4}),
              HasSubstr("pad: expected padding for each dim of f32[4]"));
}

TEST(Slice, PartsAreConcatenatedStackedAndSplit) {
  const HostTensor a = counting({2, 2}), b = counting({2, 1});
  EXPECT_EQ(run(
                [](const Values& v) {
                  return concatenate({v[0], v[1]}, -1);
                },
                {a, b}),
            HostTensor({2, 3}, {0.f, 1.f, 0.f, 2.f, 3.f, 1.f}));
  EXPECT_EQ(run(
                [](const Values& v) {
                  return stack({v[0], v[0]}, -1);
                },
                {b})
                .shape(),
            (Shape{2, 1, 2}));
  const auto parts = run_all(
      [](const Values& v) {
        return split(v[0], {1, 3}, 0);
      },
      {counting({4, 2})});
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_THAT(elements(parts[1]), ElementsAre(2, 3, 4, 5, 6, 7));
  EXPECT_THAT(error_of_move(
                  [](const Tensor& t) {
                    return split(t, {1, 1}, 0)[0];
                  },
                  {4, 2}),
              HasSubstr("sizes that add up to 4, got [1, 1]"));
  EXPECT_THAT(error_of_move(
                  [](const Tensor& t) {
                    return concatenate({t, reshape(t, {2, 4})}, 0);
                  },
                  {4, 2}),
              HasSubstr("expected parts whose shapes differ only along axis 0"));
}

TEST(Slice, Repetition) {
  const HostTensor x = counting({2, 2});
  EXPECT_EQ(run(
                [](const Values& v) {
                  return tile(v[0], {1, 2});
                },
                {x}),
            HostTensor({2, 4}, {0.f, 1.f, 0.f, 1.f, 2.f, 3.f, 2.f, 3.f}));
  EXPECT_EQ(run([](const Values& v) { return repeat(v[0], 2, 1); }, {x}),
            HostTensor({2, 4}, {0.f, 0.f, 1.f, 1.f, 2.f, 2.f, 3.f, 3.f}));
  EXPECT_EQ(run([](const Values& v) { return repeat(v[0], 2, 0); }, {x}),
            HostTensor({4, 2}, {0.f, 1.f, 0.f, 1.f, 2.f, 3.f, 2.f, 3.f}));
}

TEST(Broadcast, AlignsLastDims) {
  EXPECT_EQ(run(
                [](const Values& v) {
                  return broadcast_to(v[0], {2, 2, 2});
                },
                {counting({2, 1})}),
            HostTensor({2, 2, 2}, {0.f, 0.f, 1.f, 1.f, 0.f, 0.f, 1.f, 1.f}));
  EXPECT_THAT(error_of_move([](const Tensor& t) { return broadcast_to(t, {3}); }, {2, 3}),
              HasSubstr("broadcast_to: expected at most 1 dims"));
  EXPECT_THAT(error_of_move(
                  [](const Tensor& t) {
                    return broadcast_to(t, {2, 4});
                  },
                  {2, 3}),
              HasSubstr("cannot place dim 1 of size 3"));
}

TEST(Slice, Rolls) {
  const HostTensor x = counting({3, 2});
  const auto rolled = [&](int64_t shift, int64_t axis) {
    return elements(run([=](const Values& v) { return roll(v[0], shift, axis); }, {x}));
  };
  EXPECT_THAT(rolled(1, 0), ElementsAre(4, 5, 0, 1, 2, 3));
  EXPECT_THAT(rolled(-4, 0), ElementsAre(2, 3, 4, 5, 0, 1));
  EXPECT_THAT(rolled(3, -1), ElementsAre(1, 0, 3, 2, 5, 4));
}

TEST(Slice, PartsOfOneSize) {
  const auto parts = testing::run_all([](const Values& v) { return split_equally(v[0], 2, 1); },
                                      {counting({2, 4})});
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_THAT(elements(parts[1]), ElementsAre(2, 3, 6, 7));
  Region region;
  const TraceScope scope(region);
  EXPECT_THROW(split_equally(zeros({2, 4}), 3, 1), ShapeError);
  EXPECT_THROW(split_equally(zeros({2, 4}), 0, 1), ShapeError);
}

TEST(Broadcast, Meshgrid) {
  const auto grid = [](GridOrder order) {
    return testing::run_all([order](const Values& v) { return meshgrid(v, order); },
                            {counting({2}), counting({3}), counting({1})});
  };
  const auto xy = grid(GridOrder::kCartesian), ij = grid(GridOrder::kMatrix);
  EXPECT_EQ(xy[0].shape(), (Shape{3, 2, 1}));
  EXPECT_THAT(elements(xy[0]), ElementsAre(0, 1, 0, 1, 0, 1));
  EXPECT_THAT(elements(xy[1]), ElementsAre(0, 0, 1, 1, 2, 2));
  EXPECT_EQ(ij[0].shape(), (Shape{2, 3, 1}));
  EXPECT_THAT(elements(ij[0]), ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_THAT(elements(ij[1]), ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST(Create, SizesAreNotNegative) {
  const auto error = [](const std::function<Tensor(const Tensor&)>& fn) {
    return error_of_move(fn, {3});
  };
  for (const auto& fn : std::vector<std::function<Tensor(const Tensor&)>>{
           [](const Tensor&) { return zeros({-3}); }, [](const Tensor&) { return iota({-3}, 0); },
           [](const Tensor& x) {
             return broadcast_to(x, {-1, 3});
           },
           [](const Tensor& x) { return one_hot(astype(x, DType::kI32), -1); },
           [](const Tensor& x) {
             return reshape(x, {-3, -1});
           }})
    EXPECT_NE(error(fn), "no error");
  EXPECT_THAT(error([](const Tensor&) { return zeros({-3}); }),
              HasSubstr("expected sizes of at least 0, got f32[-3]"));
}

TEST(Sort, KeysAreOperands) {
  const auto error = [](const std::function<Tensor(const Tensor&)>& fn) {
    return error_of_move(fn, {3});
  };
  EXPECT_THAT(error([](const Tensor& x) { return sort_key_val({x}, 0, 5)[0]; }),
              HasSubstr("expected at least one operand and 1 to 1 keys, got 5 keys"));
  EXPECT_THAT(error([](const Tensor&) { return sort_key_val({}, 0)[0]; }),
              HasSubstr("expected at least one operand"));
}

TEST(Create, Linspace) {
  const auto numbers = [](int64_t count, StopValue last) {
    return run([=](const Values&) { return linspace(-1, 2, count, DType::kF32, last); });
  };
  const HostTensor seven = numbers(7, StopValue::kInclusive);
  testing::expect_near(seven, HostTensor({7}, {-1.f, -0.5f, 0.f, 0.5f, 1.f, 1.5f, 2.f}), 2e-7);
  EXPECT_EQ(seven.at(0), -1);
  EXPECT_EQ(seven.at(6), 2);
  testing::expect_near(numbers(5, StopValue::kExclusive),
                       HostTensor({5}, {-1.f, -0.4f, 0.2f, 0.8f, 1.4f}), 2e-7);
  EXPECT_EQ(numbers(1, StopValue::kInclusive), HostTensor({1}, {-1.f}));
  EXPECT_EQ(numbers(0, StopValue::kInclusive), HostTensor::zeros({0}));
  Region region;
  const TraceScope scope(region);
  EXPECT_THROW(linspace(0, 1, 3, DType::kI32), ShapeError);
  EXPECT_THROW(linspace(0, 1, -1), ShapeError);
}

}  // namespace
}  // namespace axle
