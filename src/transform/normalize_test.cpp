#include <gmock/gmock.h>

#include "ops/elementwise/elementwise.h"
#include "ops/reductions/reductions.h"
#include "testing/gradient_check.h"
#include "testing/op_test.h"

namespace axle {
namespace {

using testing::expect_near;
using testing::run;

// jnp.arange(12).reshape(2, 6) ** 2 / 10 - 3
const HostTensor kX({2, 6},
                    {-3.f, -2.9f, -2.6f, -2.1f, -1.4f, -0.5f, 0.6f, 1.9f, 3.4f, 5.1f, 7.f, 9.1f});

// Numbers of jax.nn.standardize(x, axis, algorithm="stable").
TEST(Normalize, StandardizeAgreesWithJax) {
  expect_near(run([](const Values& v) { return standardize(v[0]); }, {kX}),
              HostTensor({2, 6}, {-1.0304185f, -0.9180093f, -0.5807811f, -0.0187346f, 0.7681305f,
                                  1.7798141f, -1.3440858f, -0.8979638f, -0.3832075f, 0.2001831f,
                                  0.8522075f, 1.5728664f}),
              2e-6);
  expect_near(run(
                  [](const Values& v) {
                    return standardize(v[0], {0, 1});
                  },
                  {kX}),
              HostTensor({2, 6}, {-1.0699512f, -1.0445769f, -0.9684538f, -0.8415821f, -0.6639618f,
                                  -0.4355928f, -0.1564751f, 0.1733913f, 0.5540063f, 0.9853701f,
                                  1.4674823f, 2.0003436f}),
              2e-6);
}

TEST(Normalize, L2GivesLengthOne) {
  const HostTensor x({2, 2}, {3.f, -4.f, 0.f, 0.f});
  expect_near(run([](const Values& v) { return l2_normalize(v[0]); }, {x}),
              HostTensor({2, 2}, {0.6f, -0.8f, 0.f, 0.f}), 1e-7);
  const HostTensor slope = run(
      [](const Values& v) {
        const auto total = [](const Values& t) {
          return Values{sum(l2_normalize(t[0], {-1}, 0.25))};
        };
        return value_and_grad(total, v).second[0];
      },
      {x});
  EXPECT_NEAR(slope.at(2), 2, 1e-6);
  EXPECT_NEAR(slope.at(3), 2, 1e-6);
}

TEST(Normalize, Gradients) {
  testing::check_gradients([](const Values& v) { return Values{standardize(v[0], {0})}; }, {kX});
  testing::check_gradients([](const Values& v) { return Values{l2_normalize(v[0])}; }, {kX});
}

// 4096 equal numbers: a sum of squares in bf16 would stop growing.
TEST(Normalize, SixteenBitsAreSummedInF32) {
  const HostTensor x = HostTensor::full({4096}, 1, DType::kBF16);
  const HostTensor y = run([](const Values& v) { return l2_normalize(v[0]); }, {x});
  EXPECT_EQ(y, HostTensor::full({4096}, 0.015625, DType::kBF16));
}

}  // namespace
}  // namespace axle
