#include "base/error.h"
#include "ops/create.h"
#include "ops/reductions/reductions.h"
#include "testing/op_test.h"

namespace axle {
namespace {

using testing::elements;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::IsNan;
using testing::run;

const HostTensor kX({2, 4}, {3.f, 1.f, 4.f, 1.5f, 5.f, 9.f, 2.f, 6.f});

// jnp.quantile(x, q, axis=1, method)
TEST(Quantile, Methods) {
  const HostTensor q({4}, {0.f, 0.3f, 0.5f, 1.f});
  const auto of = [&](QuantileMethod method) {
    return elements(
        run([method](const Values& v) { return quantile(v[0], v[1], 1, method); }, {kX, q}));
  };
  const std::vector<double> linear = of(QuantileMethod::kLinear);
  EXPECT_THAT(std::vector<float>(linear.begin(), linear.end()),
              ElementsAre(1, 2, FloatEq(1.45f), FloatEq(4.7f), 2.25, 5.5, 4, 9));
  EXPECT_THAT(of(QuantileMethod::kLower), ElementsAre(1, 2, 1, 2, 1.5, 5, 4, 9));
  EXPECT_THAT(of(QuantileMethod::kHigher), ElementsAre(1, 2, 1.5, 5, 3, 6, 4, 9));
  EXPECT_THAT(of(QuantileMethod::kMidpoint), ElementsAre(1, 2, 1.25, 3.5, 2.25, 5.5, 4, 9));
  EXPECT_THAT(of(QuantileMethod::kNearest), ElementsAre(1, 2, 1.5, 5, 1.5, 5, 4, 9));
  EXPECT_THAT(of(QuantileMethod::kInvertedCdf), ElementsAre(1, 2, 1.5, 5, 1.5, 5, 4, 9));
}

TEST(Quantile, DimsOfTheResult) {
  const HostTensor kept = run(
      [](const Values& v) { return quantile(v[0], 0.25, 0, QuantileMethod::kLinear, true); }, {kX});
  EXPECT_EQ(kept, HostTensor({1, 4}, {3.5f, 3.f, 2.5f, 2.625f}));
  const HostTensor both =
      run([](const Values& v) { return percentile(v[0], v[1], 0, QuantileMethod::kLower, true); },
          {kX, HostTensor({2}, {10.f, 100.f})});
  EXPECT_EQ(both, HostTensor({2, 1, 4}, {3.f, 1.f, 2.f, 1.5f, 5.f, 9.f, 4.f, 6.f}));
}

TEST(Quantile, Median) {
  EXPECT_THAT(elements(run([](const Values& v) { return median(v[0]); }, {kX})),
              ElementsAre(2.25, 5.5));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(elements(run([](const Values& v) { return median(v[0]); },
                           {HostTensor({2, 3}, {1.f, nan, 2.f, 3.f, 1.f, 2.f})})),
              ElementsAre(IsNan(), 2));
}

// Positions are not rounded to bf16, which has 8 bits.
TEST(Quantile, ManySmallFloatsAreIndexedExactly) {
  HostTensor x = HostTensor::zeros({1001});
  for (size_t i = 0; i < 1001; ++i) x.values<float>()[i] = i < 501 ? 1.f : 2.f;
  EXPECT_THAT(
      elements(run([](const Values& v) { return quantile(v[0], v[1], 0, QuantileMethod::kLower); },
                   {x.astype(DType::kBF16), HostTensor({2}, {0.5f, 0.501f})})),
      ElementsAre(1, 2));
}

TEST(Quantile, BadOperandsAreErrors) {
  Region region;
  const TraceScope scope(region);
  EXPECT_THROW(quantile(zeros({3}, DType::kI32), 0.5), ShapeError);
  EXPECT_THROW(quantile(zeros({2, 0}), 0.5), ShapeError);
  EXPECT_THROW(quantile(zeros({3}), zeros({2, 2})), ShapeError);
}

}  // namespace
}  // namespace axle
