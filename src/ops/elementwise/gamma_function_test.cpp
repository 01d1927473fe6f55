// Numbers of jax.scipy.special in f64.
#include <limits>

#include "base/error.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "testing/op_test.h"

namespace axle {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const std::vector<double> kPositive = {1e-3, 0.5, 1, 2.5, 10, 123};

void expect_values(const std::function<Tensor(const Tensor&)>& fn, const std::vector<double>& x,
                   const std::vector<double>& expected) {
  const HostTensor y = testing::run([&](const Values& v) { return fn(v[0]); },
                                    {HostTensor({std::ssize(x)}, std::span<const double>(x))});
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(y.at(static_cast<int64_t>(i)), expected[i], 2e-14 * (1 + std::abs(expected[i])))
        << "at " << x[i];
  }
}

TEST(GammaFunction, Logarithm) {
  expect_values(lgamma, kPositive,
                {6.9071788853838525, 0.5723649429247004, 0, 0.2846828704729196, 12.801827480081473,
                 467.412199571608});
  expect_values(lgamma, {-0.5, -3.7, 1e8},
                {1.2655121234846451, -1.3797399049658248, 1742068066.1038346});
}

TEST(GammaFunction, FirstDerivative) {
  expect_values(digamma, kPositive,
                {-1000.5755719318104, -1.9635100260214255, -0.5772156649015334, 0.7031566406452437,
                 2.2517525890667214, 4.808113806573253});
  expect_values(digamma, {-0.5, -3.7, 1e8},
                {0.03648997397857731, -0.8450768588704194, 18.420680738952363});
}

TEST(GammaFunction, HigherDerivatives) {
  const auto order = [](int64_t n) { return [n](const Tensor& x) { return polygamma(n, x); }; };
  expect_values(order(1), kPositive,
                {1000001.6425331958, 4.93480220054468, 1.6449340668482264, 0.4903577561002349,
                 0.10516633568168574, 0.008163219974594368});
  expect_values(order(2), kPositive,
                {-2000000002.39763, -16.828796644234295, -2.4041138063191854, -0.2362040516417271,
                 -0.011049834970802055, -6.663779031553152e-05});
  expect_values(order(5), kPositive,
                {1.2000000000000007e+20, 7691.1135486024405, 122.08116743813397, 0.5785691785671838,
                 0.0003059451621172684, 8.699506651558505e-10});
}

TEST(GammaFunction, Poles) {
  const HostTensor x({5}, {0.0, -1.0, -kInfinity, std::nan(""), kInfinity});
  const auto values = [&](const std::function<Tensor(const Tensor&)>& fn) {
    return testing::elements(testing::run([&](const Values& v) { return fn(v[0]); }, {x}));
  };
  const auto log_gamma = values(lgamma), psi = values(digamma);
  EXPECT_EQ(log_gamma[0], kInfinity);
  EXPECT_EQ(log_gamma[1], kInfinity);
  EXPECT_EQ(log_gamma[4], kInfinity);
  EXPECT_EQ(psi[4], kInfinity);
  EXPECT_TRUE(std::isnan(log_gamma[3]));
  EXPECT_EQ(psi[0], -kInfinity);
  for (size_t i = 1; i < 4; ++i) EXPECT_TRUE(std::isnan(psi[i])) << x.at(static_cast<int64_t>(i));
}

TEST(GammaFunction, MistakesAreErrors) {
  Region region;
  const TraceScope scope(region);
  EXPECT_THROW(polygamma(0, zeros({2})), ShapeError);
  EXPECT_THROW(lgamma(zeros({2}, DType::kI32)), ShapeError);
}

}  // namespace
}  // namespace axle
