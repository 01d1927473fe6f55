#include <gmock/gmock.h>

#include "learn/matrix_split.h"
#include "learn/optimizers/matrix_optimizers.h"
#include "learn/test_program_test.h"
#include "testing/host_tensors.h"
#include "transform/linalg/matrices.h"

namespace axle {
namespace {

using ::testing::ElementsAre;

ParamSpec spec(Shape shape, FanAxes fan = {}) { return {.shape = std::move(shape), .fan = fan}; }

TEST(ParamMatrices, FollowTheFans) {
  const auto dims = [](const ParamSpec& param) {
    const auto found = matrix_dims(param);
    return found ? std::vector{found->row, found->column} : std::vector<int64_t>{};
  };
  EXPECT_THAT(dims(spec({8, 4})), ElementsAre(0, 1));
  EXPECT_THAT(dims(spec({2, 8, 4}, {.batch = {-3}})), ElementsAre(1, 2));
  // Heads: each has a matrix of its own.
  EXPECT_THAT(dims(spec({8, 2, 4}, {.in = {-3}, .out = {-2, -1}})), ElementsAre(0, 2));
  EXPECT_THAT(dims(spec({8, 2, 4}, {.in = {-2, -1}, .out = {-3}})), ElementsAre(2, 0));
  // Vectors, alone and stacked; biases of heads say that they have no fans.
  EXPECT_THAT(dims(spec({4})), ElementsAre());
  EXPECT_THAT(dims(spec({3, 4}, {.batch = {-2}})), ElementsAre());
  EXPECT_THAT(dims(spec({2, 4}, {.in = {}, .out = {}})), ElementsAre());
}

TEST(ParamMatrices, RoundTrip) {
  for (const MatrixDims dims : {MatrixDims{0, 2}, MatrixDims{2, 0}, MatrixDims{1, 3}}) {
    const HostTensor x = testing::random_tensor({DType::kF32, {3, 4, 5, 6}}, 1).astype(DType::kF32);
    const auto out = eval(
        [&](const Values& v) {
          const Tensor matrices = to_matrices(v[0], dims);
          return Values{matrices, from_matrices(matrices, dims)};
        },
        {x});
    EXPECT_EQ(out[0].shape()[2], x.shape()[dims.row]);
    EXPECT_EQ(out[0].shape()[3], x.shape()[dims.column]);
    EXPECT_EQ(out[1], x);
  }
}

// Each matrix of the stack, tall or wide, has singular values near 1 afterwards.
TEST(Orthogonalized, SingularValuesComeNearOne) {
  for (const Shape& shape : {Shape{3, 5, 9}, Shape{3, 9, 5}}) {
    const HostTensor x = testing::random_tensor({DType::kF32, shape}, 2).astype(DType::kF32);
    const HostTensor gram = eval(
        [](const Values& v) {
          const Tensor y = orthogonalized(v[0], 5);
          return Values{y.dim(-1) > y.dim(-2) ? matmul(y, transposed(y))
                                              : matmul(transposed(y), y)};
        },
        {x})[0];
    for (int64_t matrix = 0; matrix < 3; ++matrix) {
      for (int64_t i = 0; i < 5; ++i) {
        const double square = gram.at(matrix * 25 + i * 6);
        EXPECT_GT(square, 0.3);
        EXPECT_LT(square, 1.7);
      }
    }
  }
  const HostTensor zeros = HostTensor::zeros({2, 3, 3});
  EXPECT_EQ(eval([](const Values& v) { return Values{orthogonalized(v[0], 5)}; }, {zeros})[0],
            zeros);
}

}  // namespace
}  // namespace axle
