// Numbers of JAX 0.10 for jax.random.key(42), and goodness of fit.
#include <gtest/gtest-spi.h>

#include <cmath>
#include <numbers>

#include "base/error.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/random/random.h"
#include "testing/goodness_of_fit.h"
#include "testing/op_test.h"

namespace axle {
namespace {

using random::Key;
using testing::elements;
using ::testing::ElementsAre;
using Sampler = std::function<Tensor(const Key& key, const Shape& shape)>;

HostTensor random_distributions_draw(const Sampler& sampler, const Shape& shape) {
  return testing::run([&](const Values& v) { return sampler(Key::wrap(v[0]), shape); },
                      {random::key_words(42)});
}

struct Row {
  const char* name;
  Sampler sampler;
  std::vector<double> from_jax;  // the first numbers of that shape
  std::function<double(double)> cdf;
};

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

const Row kRows[] = {
    {"logistic",
     [](const Key& k, const Shape& s) { return random::logistic(k, s); },
     {-0.045169413, 0.7528398, 0.47375232, 0.24528676},
     [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"cauchy",
     [](const Key& k, const Shape& s) { return random::cauchy(k, s); },
     {-0.03548463, 0.6337261, 0.38244057, 0.1940707},
     [](double x) { return 0.5 + std::atan(x) / std::numbers::pi; }},
    {"pareto",
     [](const Key& k, const Shape& s) { return random::pareto(k, s, scalar(2.5)); },
     {1.3077748, 1.5769936, 1.4668658, 1.3900185},
     [](double x) { return 1 - std::pow(x, -2.5); }},
    {"lognormal",
     [](const Key& k, const Shape& s) { return random::lognormal(k, s, scalar(0.5)); },
     {0.9859474, 1.2630961, 1.1593407, 1.0797969},
     [](double x) { return normal_cdf(std::log(x) / 0.5); }},
    {"rayleigh",
     [](const Key& k, const Shape& s) { return random::rayleigh(k, s, scalar(1.5)); },
     {1.7949767, 1.3178861, 1.475908, 1.6127696},
     [](double x) { return 1 - std::exp(-x * x / 4.5); }},
    {"wald",
     [](const Key& k, const Shape& s) { return random::wald(k, s, scalar(2)); },
     {2.2265885, 3.9277124, 0.38947535, 0.97424567},
     [](double x) {
       const double root = 1 / std::sqrt(x);
       return normal_cdf(root * (x / 2 - 1)) + std::exp(1) * normal_cdf(-root * (x / 2 + 1));
     }},
    {"weibull_min",
     [](const Key& k, const Shape& s) { return random::weibull_min(k, s, scalar(2), scalar(1.5)); },
     {1.5326145, 2.1810308, 1.943357, 1.7568423},
     [](double x) { return 1 - std::exp(-std::pow(x / 2, 1.5)); }},
    {"triangular",
     [](const Key& k, const Shape& s) {
       return random::triangular(k, s, scalar(-1), scalar(0.5), scalar(2));
     },
     {0.48296762, 0.7996198, 0.6859306, 0.5945009},
     [](double x) { return x < 0.5 ? (x + 1) * (x + 1) / 4.5 : 1 - (2 - x) * (2 - x) / 4.5; }},
    {"maxwell",
     [](const Key& k, const Shape& s) { return random::maxwell(k, s); },
     {0.5535825, 0.29328507, 1.708603, 1.5084578},
     [](double x) {
       return std::erf(x / std::numbers::sqrt2) -
              std::sqrt(2 / std::numbers::pi) * x * std::exp(-x * x / 2);
     }},
    {"double_sided_maxwell",
     [](const Key& k, const Shape& s) {
       return random::double_sided_maxwell(k, s, scalar(0.5), scalar(2));
     },
     {-2.2620435, -0.85137796, 4.9440427, 1.8510998},
     [](double v) {
       const double x = std::abs(v - 0.5) / 2;
       const double inside = std::erf(x / std::numbers::sqrt2) -
                             std::sqrt(2 / std::numbers::pi) * x * std::exp(-x * x / 2);
       return 0.5 + (v < 0.5 ? -0.5 : 0.5) * inside;
     }},
};

TEST(RandomDistributions, MatchJax) {
  for (const Row& row : kRows) {
    const HostTensor x = random_distributions_draw(row.sampler, {4});
    for (int64_t i = 0; i < 4; ++i) {
      const double expected = row.from_jax[i];
      EXPECT_NEAR(x.at(i), expected, 2e-6 * std::max(1.0, std::abs(expected))) << row.name;
    }
  }
}

TEST(RandomDistributions, FollowTheirDensity) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.name);
    testing::expect_distribution(random_distributions_draw(row.sampler, {4000}), row.cdf);
  }
}

// The tests of fit notice a small error of a parameter.
TEST(RandomDistributions, AnotherDistributionDoesNotFit) {
  const auto fits = [](const std::function<void()>& expectation) {
    ::testing::TestPartResultArray failures;
    const ::testing::ScopedFakeTestPartResultReporter catch_failures(&failures);
    expectation();
    return failures.size() == 0;
  };
  const HostTensor x = random_distributions_draw(kRows[0].sampler, {4000});
  const auto shifted = [](double by) { return [by](double v) { return kRows[0].cdf(v + by); }; };
  EXPECT_TRUE(fits([&] { testing::expect_distribution(x, shifted(0)); }));
  EXPECT_FALSE(fits([&] { testing::expect_distribution(x, shifted(0.2)); }));
  const HostTensor counts = random_distributions_draw(
      [](const Key& k, const Shape& s) { return random::geometric(k, s, scalar(0.2)); }, {4000});
  const auto probability = [](double p) {
    return [p](int64_t k) { return k == 0 ? 0 : p * std::pow(1 - p, static_cast<double>(k - 1)); };
  };
  EXPECT_TRUE(fits([&] { testing::expect_counts(counts, probability(0.2)); }));
  EXPECT_FALSE(fits([&] { testing::expect_counts(counts, probability(0.22)); }));
}

TEST(RandomDistributions, Geometric) {
  const Sampler sampler = [](const Key& k, const Shape& s) {
    return random::geometric(k, s, scalar(0.2));
  };
  EXPECT_THAT(elements(random_distributions_draw(sampler, {6})), ElementsAre(4, 2, 3, 3, 4, 3));
  testing::expect_counts(random_distributions_draw(sampler, {4000}), [](int64_t k) {
    return k == 0 ? 0 : 0.2 * std::pow(0.8, static_cast<double>(k - 1));
  });
}

// jax.random.normal(key, (3,), complex64)
TEST(RandomDistributions, ComplexNormal) {
  const auto part = [](Tensor (*of)(const Tensor&)) {
    return random_distributions_draw(
        [of](const Key& k, const Shape& s) { return of(random::normal(k, s, DType::kC64)); }, {3});
  };
  const HostTensor re = part(real), im = part(imag);
  const double expected_re[] = {0.05368746, -0.34389618, 0.91239446};
  const double expected_im[] = {0.42833984, 0.56500947, -0.64270848};
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(re.at(i), expected_re[i], 2e-7);
    EXPECT_NEAR(im.at(i), expected_im[i], 2e-7);
  }
}

// jax.random.multivariate_normal(key, [1, 2, 3], L L^T, (2,))
TEST(RandomDistributions, MultivariateNormal) {
  const HostTensor factor({3, 3}, {2.f, 0.f, 0.f, 0.5f, 1.f, 0.f, -1.f, 0.25f, 0.5f});
  const HostTensor mean({3}, {1.f, 2.f, 3.f});
  const HostTensor x = random_distributions_draw(
      [&](const Key& k, const Shape& s) {
        return random::multivariate_normal(k, s, constant(mean), constant(factor));
      },
      {2});
  const double expected[] = {0.9433908, 2.4529796, 3.2929392, 1.3070918, 1.9527402, 2.9239075};
  ASSERT_EQ(x.shape(), Shape({2, 3}));
  for (int64_t i = 0; i < 6; ++i) EXPECT_NEAR(x.at(i), expected[i], 2e-6);
  // A factor for each draw.
  const HostTensor same = random_distributions_draw(
      [&](const Key& k, const Shape& s) {
        return random::multivariate_normal(k, s, constant(mean),
                                           reshape(constant(factor), {1, 3, 3}));
      },
      {2});
  EXPECT_EQ(same, x);
}

// jax.random.randint(key, shape, low, high, dtype)
TEST(RandomDistributions, IntegersOfOtherDtypesAndBounds) {
  EXPECT_THAT(
      elements(random_distributions_draw(
          [](const Key& k, const Shape& s) { return random::randint(k, s, -100, 100, DType::kI8); },
          {5})),
      ElementsAre(-56, 14, -29, 69, 9));
  EXPECT_THAT(
      elements(random_distributions_draw(
          [](const Key& k, const Shape& s) { return random::randint(k, s, 0, 60000, DType::kU16); },
          {5})),
      ElementsAre(52644, 40914, 58071, 22369, 25709));
  for (const DType dtype : {DType::kI16, DType::kI32, DType::kU32}) {
    const Sampler tensors = [=](const Key& k, const Shape& s) {
      return random::randint(k, s, astype(constant(HostTensor({3}, {0, 10, 5})), dtype),
                             astype(constant(HostTensor({3}, {7, 1000, 5})), dtype));
    };
    EXPECT_THAT(elements(random_distributions_draw(tensors, {2, 3})),
                ElementsAre(1, 484, 5, 4, 399, 5));
  }
  // Bounds as tensors and as numbers give the same integers.
  for (const DType dtype : {DType::kI8, DType::kU8, DType::kI64, DType::kU64, DType::kI32}) {
    const Sampler tensors = [=](const Key& k, const Shape& s) {
      return random::randint(k, s, scalar(3, dtype), scalar(101, dtype));
    };
    const Sampler numbers = [=](const Key& k, const Shape& s) {
      return random::randint(k, s, 3, 101, dtype);
    };
    EXPECT_EQ(random_distributions_draw(tensors, {50}), random_distributions_draw(numbers, {50}));
  }
}

// jax.random.permutation(key, arange(12).reshape(3, 4), axis, independent=True)
TEST(RandomDistributions, IndependentPermutations) {
  const auto permuted = [](int64_t axis) {
    return elements(random_distributions_draw(
        [=](const Key& k, const Shape& s) {
          return random::independent_permutation(k, reshape(iota({12}, 0), s), axis);
        },
        {3, 4}));
  };
  EXPECT_THAT(permuted(1), ElementsAre(2, 3, 0, 1, 7, 4, 5, 6, 10, 11, 8, 9));
  EXPECT_THAT(permuted(0), ElementsAre(4, 5, 2, 7, 8, 9, 6, 3, 0, 1, 10, 11));
}

// jax.random.categorical(key, logits, axis, shape=(3, 2), replace=False)
TEST(RandomDistributions, CategoricalWithoutReplacement) {
  const HostTensor p({2, 4}, {.1f, .2f, .3f, .4f, .4f, .3f, .2f, .1f});
  const auto drawn = [&](bool is_transposed) {
    return elements(random_distributions_draw(
        [&](const Key& k, const Shape& s) {
          const Tensor logits = log(constant(p));
          return random::categorical(k, is_transposed ? transpose(logits, {1, 0}) : logits,
                                     is_transposed ? 0 : 1, s, random::Replacement::kWithout);
        },
        {3}));
  };
  EXPECT_THAT(drawn(false), ElementsAre(3, 1, 2, 0, 1, 3));
  EXPECT_THAT(drawn(true), ElementsAre(1, 0, 2, 1, 3, 3));
}

TEST(RandomDistributions, UniformOfSmallFloats) {
  const auto uniform = [](DType dtype, double low, double high, int64_t n) {
    return elements(random_distributions_draw(
        [=](const Key& k, const Shape& s) { return random::uniform(k, s, dtype, low, high); },
        {n}));
  };
  EXPECT_THAT(uniform(DType::kF16, 0, 1, 4),
              ElementsAre(0.076171875, 0.1904296875, 0.9755859375, 0.7568359375));
  EXPECT_THAT(uniform(DType::kF8E4M3FN, 0, 1, 6), ElementsAre(0.625, 0.75, 0.875, 0.75, 0, 0.75));
  EXPECT_THAT(uniform(DType::kF8E4M3FN, -1, 3, 6), ElementsAre(1.5, 2, 2.5, 2, -1, 2));
  EXPECT_THAT(uniform(DType::kF8E5M2, 0, 1, 6), ElementsAre(0.5, 0.75, 0.75, 0.75, 0, 0.75));
  EXPECT_THAT(uniform(DType::kF8E5M2, -1, 3, 6), ElementsAre(1, 2, 2, 2, -1, 2));
}

TEST(RandomDistributions, MistakesAreErrors) {
  Region region;
  const TraceScope scope(region);
  const Key key = random::random_key(0);
  EXPECT_THROW(random::multivariate_normal(key, {2}, zeros({3}), zeros({2, 3})), ShapeError);
  EXPECT_THROW(random::multivariate_normal(key, {2}, zeros({}), zeros({1, 1})), ShapeError);
  EXPECT_THROW(random::pareto(key, {2}, zeros({3})), ShapeError);
  EXPECT_THROW(random::randint(key, {2}, 0, 9, DType::kI4), ShapeError);
  EXPECT_THROW(random::randint(key, {2}, 0, 300, DType::kU8), ShapeError);
  EXPECT_THROW(random::categorical(key, zeros({3}), 0, {4}, random::Replacement::kWithout),
               ShapeError);
}

}  // namespace
}  // namespace axle
