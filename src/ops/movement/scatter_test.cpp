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

using Scatter = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, const GatherDims&,
                           const ScatterOptions&);

// Windows of one row and 2 columns, at positions (row, column) held by the last dim of the indices.
const GatherDims kScatterPairs{
    .offset = {1}, .collapsed = {0}, .index_map = {0, 1}, .index_vector_dim = 1};

TEST(Scatter, DropsUpdatesThatReachOutside) {
  const HostTensor at({4, 2}, {0, 0, 0, 1, 1, 3, 2, 2});  // the third window reaches outside
  const HostTensor updates = HostTensor::ones({4, 2});
  const HostTensor y =
      run([](const Values& v) { return scatter_add(v[0], v[1], v[2], kScatterPairs); },
          {HostTensor::zeros({3, 4}), at, updates});
  EXPECT_THAT(elements(y), ElementsAre(1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1));
}

// Three updates of element 0, one of element 2, one outside.
HostTensor combined(Scatter f, const HostTensor& x, const ScatterOptions& options = {}) {
  const HostTensor at({5}, {0, 2, 0, 7, 0});
  const HostTensor updates = HostTensor({5}, {-3.f, 4.f, 2.f, 5.f, 3.f}).astype(x.dtype());
  return run(
      [&](const Values& v) {
        return f(v[0], v[1], v[2], {.collapsed = {0}, .index_map = {0}, .index_vector_dim = 1},
                 options);
      },
      {x, at, updates});
}

TEST(Scatter, CombinesAllUpdatesOfAnElement) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI32, DType::kI8}) {
    const HostTensor x = HostTensor({3}, {1.f, 2.f, 6.f}).astype(dtype);
    EXPECT_THAT(elements(combined(scatter_add, x)), ElementsAre(3, 2, 10));
    EXPECT_THAT(elements(combined(scatter_mul, x)), ElementsAre(-18, 2, 24));
    EXPECT_THAT(elements(combined(scatter_min, x)), ElementsAre(-3, 2, 4));
    EXPECT_THAT(elements(combined(scatter_max, x)), ElementsAre(3, 2, 6));
  }
}

TEST(Scatter, MovesUpdatesThatReachOutside) {
  const ScatterOptions clip{.mode = ScatterMode::kClip};
  const HostTensor x({3}, {1.f, 2.f, 6.f});
  EXPECT_THAT(elements(combined(scatter_add, x, clip)), ElementsAre(3, 2, 15));
  EXPECT_THAT(elements(combined(scatter_mul, x, clip)), ElementsAre(-18, 2, 120));
  EXPECT_THAT(elements(combined(scatter_min, x, clip)), ElementsAre(-3, 2, 4));
  EXPECT_THAT(elements(combined(scatter_max, x, clip)), ElementsAre(3, 2, 6));
}

TEST(Scatter, NanResultsStayNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const HostTensor x({3}, {nan, nan, 6.f});
  EXPECT_THAT(elements(combined(scatter_max, x)), ElementsAre(IsNan(), IsNan(), 6));
  EXPECT_THAT(elements(combined(scatter_min, x)), ElementsAre(IsNan(), IsNan(), 4));
}

TEST(Scatter, Replaces) {
  const HostTensor at({2, 2}, {0, 2, 2, 0});
  const HostTensor updates({2, 2}, {-1.f, -2.f, -3.f, -4.f});
  const HostTensor y = run([](const Values& v) { return scatter(v[0], v[1], v[2], kScatterPairs); },
                           {counting({3, 4}), at, updates});
  EXPECT_THAT(elements(y), ElementsAre(0, 1, -1, -2, 4, 5, 6, 7, -3, -4, 10, 11));
}

// scatter_add is the transpose of the gather with the same dims.
TEST(Scatter, IsTheTransposeOfGather) {
  const HostTensor at({3, 2}, {0, 1, 2, 0, 0, 2});
  const HostTensor x = counting({3, 4}), u = counting({3, 2});
  const HostTensor gathered = run(
      [](const Values& v) {
        return gather(v[0], v[1], kScatterPairs, {1, 2});
      },
      {x, at});
  const HostTensor scattered =
      run([](const Values& v) { return scatter_add(v[0], v[1], v[2], kScatterPairs); },
          {HostTensor::zeros({3, 4}), at, u});
  double left = 0, right = 0;
  for (int64_t i = 0; i < u.size(); ++i) left += gathered.at(i) * u.at(i);
  for (int64_t i = 0; i < x.size(); ++i) right += x.at(i) * scattered.at(i);
  EXPECT_EQ(left, right);
  EXPECT_NE(left, 0);
}

TEST(Scatter, BadUpdatesAreErrors) {
  Region region;
  const TraceScope scope(region);
  const Tensor x = zeros({3, 4}), at = zeros({5, 2}, DType::kI32);
  // Updates with a wrong number of positions, then with a wrong dtype.
  EXPECT_THROW(scatter_add(x, at, zeros({4, 2}), kScatterPairs), ShapeError);
  EXPECT_THROW(scatter_add(x, at, zeros({5, 2}, DType::kBF16), kScatterPairs), ShapeError);
  const Tensor complex = zeros({3, 4}, DType::kC64), updates = zeros({5, 2}, DType::kC64);
  EXPECT_THROW(scatter_max(complex, at, updates, kScatterPairs), ShapeError);
  EXPECT_NO_THROW(scatter_mul(complex, at, updates, kScatterPairs));
}

}  // namespace
}  // namespace axle
