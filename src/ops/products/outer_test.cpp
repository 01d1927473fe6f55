#include "base/error.h"
#include "ops/create.h"
#include "ops/products/products.h"
#include "testing/op_test.h"

namespace axle {
namespace {

using testing::run;

TEST(Outer, MultipliesVectorsAndMatrices) {
  const HostTensor a({2}, {1.f, 2.f}), b({3}, {3.f, 4.f, 5.f});
  EXPECT_EQ(run([](const Values& v) { return outer(v[0], v[1]); }, {a, b}),
            HostTensor({2, 3}, {3.f, 4.f, 5.f, 6.f, 8.f, 10.f}));
  const HostTensor c({2, 2}, {1.f, 2.f, 3.f, 4.f}), d({1, 2}, {0.f, 1.f});
  EXPECT_EQ(run([](const Values& v) { return kron(v[0], v[1]); }, {c, d}),
            HostTensor({2, 4}, {0.f, 1.f, 0.f, 2.f, 0.f, 3.f, 0.f, 4.f}));
  EXPECT_EQ(run([](const Values& v) { return kron(v[0], v[1]); }, {d, c}),
            HostTensor({2, 4}, {0.f, 0.f, 1.f, 2.f, 0.f, 0.f, 3.f, 4.f}));
}

TEST(Outer, RanksMustMatch) {
  Region region;
  const TraceScope scope(region);
  EXPECT_THROW(outer(zeros({2}), zeros({2, 2})), ShapeError);
  EXPECT_THROW(kron(zeros({2}), zeros({2, 2})), ShapeError);
}

}  // namespace
}  // namespace axle
