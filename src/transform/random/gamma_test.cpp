// Numbers of JAX 0.10 for jax.random.key(42), and goodness of fit.
#include "transform/random/gamma.h"

#include <cmath>

#include "base/error.h"
#include "ops/create.h"
#include "ops/elementwise/exponential.h"
#include "ops/movement/slice.h"
#include "ops/random/random.h"
#include "ops/reductions/reduce.h"
#include "testing/goodness_of_fit.h"
#include "testing/host_tensors.h"
#include "testing/op_test.h"
#include "transform/grad.h"
#include "transform/vmap.h"

namespace axle {
namespace {

using random::Key;
using random::PrngImpl;
using Sampler = std::function<Tensor(const Key& key, const Shape& shape)>;

HostTensor draw(const Sampler& sampler, const Shape& shape,
                PrngImpl impl = PrngImpl::kThreefry2x32) {
  return testing::run([&](const Values& v) { return sampler(Key::wrap(v[0], impl), shape); },
                      {random::key(42, impl)});
}

void expect_close(const HostTensor& x, const std::vector<double>& expected) {
  ASSERT_EQ(x.size(), static_cast<int64_t>(expected.size()));
  for (int64_t i = 0; i < x.size(); ++i) {
    const double e = expected[static_cast<size_t>(i)];
    EXPECT_NEAR(x.at(i), e, 1e-5 * std::abs(e)) << "at " << i;
  }
}

const HostTensor kShapes({4}, {0.3f, 1.f, 2.5f, 20.f});

TEST(RandomGamma, IsThatOfJax) {
  const Sampler gamma = [](const Key& k, const Shape& s) {
    return random::gamma(k, s, constant(kShapes));
  };
  expect_close(draw(gamma, {4}), {0.43624744, 0.33158407, 4.1941113, 17.719715});
  expect_close(draw(gamma, {4}, PrngImpl::kRbg), {2.5782863e-05, 0.9273919, 0.6949802, 21.200676});
}

TEST(RandomGamma, LogarithmsReachBelowTheSmallestFloat) {
  expect_close(
      draw(
          [](const Key& k, const Shape& s) {
            return random::loggamma(k, s, constant(HostTensor({4}, {1e-3f, 0.3f, 2.5f, 20.f})));
          },
          {4}),
      {-537.9234, -1.1391261, 1.4336815, 2.8746781});
}

// t(3), chisquare(3), f(3, 5), generalized_normal(1.5) and ball(3, 1.5)
TEST(RandomGamma, OthersAreThoseOfJax) {
  expect_close(
      draw([](const Key& k, const Shape& s) { return random::student_t(k, s, scalar(3)); }, {4}),
      {0.08987478, -1.7357467, 2.352019, 1.1635191});
  expect_close(
      draw([](const Key& k, const Shape& s) { return random::chisquare(k, s, scalar(3)); }, {4}),
      {5.870714, 1.397851, 5.5594234, 1.4829895});
  expect_close(
      draw([](const Key& k, const Shape& s) { return random::f_ratio(k, s, scalar(3), scalar(5)); },
           {4}),
      {0.7283635, 0.3569255, 0.23560737, 0.15563177});
  expect_close(draw([](const Key& k,
                       const Shape& s) { return random::generalized_normal(k, s, scalar(1.5)); },
                    {4}),
               {-0.87823755, -0.20616245, 1.160471, 0.10202969});
  expect_close(
      draw([](const Key& k, const Shape& s) { return random::ball(k, s, 3, scalar(1.5)); }, {2}),
      {0.34366795, 0.05199319, 0.017910156, 0.376013, -0.07180141, 0.2809016});
}

struct Row {
  const char* name;
  Sampler sampler;
  std::function<double(double)> cdf;
};

const Row kRows[] = {
    {"gamma(1/2)", [](const Key& k, const Shape& s) { return random::gamma(k, s, scalar(0.5)); },
     [](double x) { return std::erf(std::sqrt(x)); }},
    {"gamma(3)", [](const Key& k, const Shape& s) { return random::gamma(k, s, scalar(3)); },
     [](double x) { return 1 - std::exp(-x) * (1 + x + x * x / 2); }},
    {"loggamma(1/2)",
     [](const Key& k, const Shape& s) { return random::loggamma(k, s, scalar(0.5)); },
     [](double x) { return std::erf(std::exp(x / 2)); }},
    {"beta(2, 3)",
     [](const Key& k, const Shape& s) { return random::beta(k, s, scalar(2), scalar(3)); },
     [](double x) { return x * x * (6 - 8 * x + 3 * x * x); }},
    {"student_t(2)",
     [](const Key& k, const Shape& s) { return random::student_t(k, s, scalar(2)); },
     [](double x) { return 0.5 + x / (2 * std::sqrt(2 + x * x)); }},
    {"chisquare(2)",
     [](const Key& k, const Shape& s) { return random::chisquare(k, s, scalar(2)); },
     [](double x) { return 1 - std::exp(-x / 2); }},
    {"f_ratio(2, 2)",
     [](const Key& k, const Shape& s) { return random::f_ratio(k, s, scalar(2), scalar(2)); },
     [](double x) { return x / (1 + x); }},
    {"generalized_normal(1)",
     [](const Key& k, const Shape& s) { return random::generalized_normal(k, s, scalar(1)); },
     [](double x) { return x < 0 ? std::exp(x) / 2 : 1 - std::exp(-x) / 2; }},
    {"first of dirichlet(1, 2, 3)",
     [](const Key& k, const Shape& s) {
       const HostTensor alpha({3}, {1.f, 2.f, 3.f});
       return index_in_dim(random::dirichlet(k, s, constant(alpha)), -1, 0);
     },
     [](double x) { return 1 - std::pow(1 - x, 5); }},
    {"radius of ball(2)",
     [](const Key& k, const Shape& s) {
       return sqrt(reduce_sum(square(random::ball(k, s, 2, scalar(2))), {1}));
     },
     [](double x) { return x * x; }},
};

TEST(RandomGamma, FollowsItsDensity) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.name);
    testing::expect_distribution(draw(row.sampler, {2000}), row.cdf);
  }
}

TEST(RandomGamma, OfOtherKeysFollowsItsDensity) {
  testing::expect_distribution(draw(kRows[1].sampler, {500}, PrngImpl::kRbg), kRows[1].cdf);
}

TEST(RandomGamma, UnderVmapIsALoop) {
  const auto one = [](const Values& v) {
    return Values{random::gamma(Key::wrap(v[0]), {3}, v[1])};
  };
  const HostTensor a({2}, {0.4f, 3.f});
  HostTensor keys(Type{DType::kU32, {2, 2}});
  for (uint32_t next = 3; uint32_t & word : keys.values<uint32_t>()) word = next++;
  const auto both = testing::run([&](const Values& v) { return vmap(one, v)[0]; }, {keys, a});
  for (int64_t i = 0; i < 2; ++i) {
    const auto x = testing::run(
        [&](const Values& v) {
          return one({index_in_dim(v[0], 0, i), index_in_dim(v[1], 0, i)})[0];
        },
        {keys, a});
    for (int64_t j = 0; j < 3; ++j) EXPECT_EQ(both.at(3 * i + j), x.at(j));
  }
}

TEST(RandomGamma, HasNoGradient) {
  for (const PrngImpl impl : {PrngImpl::kThreefry2x32, PrngImpl::kRbg}) {
    const auto gradient = [impl](const Values& v) {
      return value_and_grad(
                 [&](const Values& a) {
                   return Values{sum(random::gamma(Key::wrap(v[0], impl), {3}, a[0]))};
                 },
                 {v[1]})
          .second;
    };
    EXPECT_THROW(eval(gradient, {random::key(1, impl), HostTensor::scalar(2.f)}), ShapeError);
  }
}

TEST(RandomGamma, MistakesAreErrors) {
  Region region;
  const TraceScope scope(region);
  const Key key = random::random_key(0);
  EXPECT_THROW(random::gamma(key, {2}, zeros({3})), ShapeError);
  EXPECT_THROW(random::gamma(key, {2}, zeros({2}, DType::kI32)), ShapeError);
  EXPECT_THROW(random::dirichlet(key, {2}, scalar(1)), ShapeError);
  EXPECT_THROW(random::ball(key, {2}, 3, zeros({2})), ShapeError);
}

}  // namespace
}  // namespace axle
