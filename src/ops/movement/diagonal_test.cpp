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

HostTensor of_counting(const std::function<Tensor(const Tensor&)>& f) {
  return run([&](const Values& v) { return f(v[0]); }, {counting({3, 4})});
}

TEST(Diagonal, MatricesOfOnes) {
  EXPECT_EQ(run([](const Values&) { return eye(3, 4, 1); }),
            HostTensor({3, 4}, {0.f, 1.f, 0.f, 0.f, 0.f, 0.f, 1.f, 0.f, 0.f, 0.f, 0.f, 1.f}));
  EXPECT_EQ(run([](const Values&) { return tri(3, 4, -1); }),
            HostTensor({3, 4}, {0.f, 0.f, 0.f, 0.f, 1.f, 0.f, 0.f, 0.f, 1.f, 1.f, 0.f, 0.f}));
}

TEST(Diagonal, Triangles) {
  EXPECT_THAT(elements(of_counting([](const Tensor& x) { return tril(x, 1); })),
              ElementsAre(0, 1, 0, 0, 4, 5, 6, 0, 8, 9, 10, 11));
  EXPECT_THAT(elements(of_counting([](const Tensor& x) { return triu(x, -1); })),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 0, 9, 10, 11));
  const HostTensor batch =
      run([](const Values& v) { return tril(v[0]); }, {counting({2, 2, 2}, DType::kI32)});
  EXPECT_THAT(elements(batch), ElementsAre(0, 0, 2, 3, 4, 0, 6, 7));
}

TEST(Diagonal, IsReadAtEveryOffset) {
  const auto read = [](int64_t offset) {
    return elements(of_counting([offset](const Tensor& x) { return diagonal(x, offset); }));
  };
  EXPECT_THAT(read(-3), ElementsAre());
  EXPECT_THAT(read(-2), ElementsAre(8));
  EXPECT_THAT(read(-1), ElementsAre(4, 9));
  EXPECT_THAT(read(0), ElementsAre(0, 5, 10));
  EXPECT_THAT(read(1), ElementsAre(1, 6, 11));
  EXPECT_THAT(read(3), ElementsAre(3));
  EXPECT_THAT(read(4), ElementsAre());
  EXPECT_THAT(elements(of_counting([](const Tensor& x) { return matrix_trace(x, 1); })),
              ElementsAre(18));
}

TEST(Diagonal, IsWritten) {
  const auto written = [](int64_t offset) {
    return elements(run([offset](const Values& v) { return diagonal_matrix(v[0], offset); },
                        {HostTensor({2}, {1.f, 2.f})}));
  };
  EXPECT_THAT(written(0), ElementsAre(1, 0, 0, 2));
  EXPECT_THAT(written(1), ElementsAre(0, 1, 0, 0, 0, 2, 0, 0, 0));
  EXPECT_THAT(written(-1), ElementsAre(0, 0, 0, 1, 0, 0, 0, 2, 0));
  const HostTensor none =
      run([](const Values& v) { return diagonal_matrix(v[0], 1); }, {HostTensor::zeros({0})});
  EXPECT_EQ(none, HostTensor::zeros({1, 1}));
  const HostTensor batch = run(
      [](const Values& v) { return diagonal(diagonal_matrix(v[0], -2), -2); }, {counting({3, 2})});
  EXPECT_EQ(batch, counting({3, 2}));
}

TEST(Diagonal, VectorsAreErrors) {
  Region region;
  const TraceScope scope(region);
  EXPECT_THROW(tril(zeros({3})), ShapeError);
  EXPECT_THROW(diagonal(zeros({3})), ShapeError);
  EXPECT_THROW(diagonal_matrix(zeros({})), ShapeError);
}

}  // namespace
}  // namespace axle
