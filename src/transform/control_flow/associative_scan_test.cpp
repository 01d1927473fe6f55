#include <gmock/gmock.h>

#include "ops/elementwise/elementwise.h"
#include "ops/reductions/reductions.h"
#include "testing/error_of.h"
#include "testing/gradient_check.h"
#include "testing/host_tensors.h"
#include "transform/control_flow/control_flow.h"
#include "transform/trace.h"

namespace axle {
namespace {

// Two affine maps, one after the other.
Values compose(const Values& earlier, const Values& later) {
  return {earlier[0] * later[0], later[0] * earlier[1] + later[1]};
}
Values affine(const Values& x) { return associative_scan(compose, x, 1); }

TEST(AssociativeScan, ResultsAreThoseOfALoopForEverySize) {
  for (const int64_t n : {0, 1, 2, 3, 4, 5, 8, 13}) {
    const HostTensor a = testing::normal_values({2, n}, 1), b = testing::normal_values({2, n}, 2);
    const std::vector<HostTensor> y = eval(affine, {a, b});
    for (int64_t row = 0; row < 2; ++row) {
      double h = 0, product = 1;
      for (int64_t t = row * n; t < (row + 1) * n; ++t) {
        h = a.at(t) * h + b.at(t);
        product *= a.at(t);
        EXPECT_NEAR(y[0].at(t), product, 1e-4) << n << ", " << t;
        EXPECT_NEAR(y[1].at(t), h, 1e-4) << n << ", " << t;
      }
    }
  }
}

TEST(AssociativeScan, HasTheGradientOfTheLoop) {
  testing::check_gradients(
      affine, {testing::normal_values({2, 5}, 1), testing::normal_values({2, 5}, 2)}, 1);
}

TEST(AssociativeScan, NeedsOneLength) {
  EXPECT_THAT(error_of<ShapeError>([] {
                eval(affine, {HostTensor::zeros({2, 3}), HostTensor::zeros({2, 4})});
              }),
              ::testing::HasSubstr("expected one size along axis 1, got 3 and 4"));
}

TEST(AssociativeScan, NamesItselfForAnAxisThatIsNotThere) {
  EXPECT_THAT(error_of<ShapeError>([] {
                eval(affine, {HostTensor::zeros({2}), HostTensor::zeros({2})});
              }),
              ::testing::AllOf(::testing::HasSubstr("associative_scan"),
                               ::testing::HasSubstr(": expected an axis of 1 dims, got 1"),
                               ::testing::Not(::testing::HasSubstr("move_axis"))));
}

}  // namespace
}  // namespace axle
