// Numbers of JAX 0.10 for jax.random.key(42), and goodness of fit.
#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/random/random.h"
#include "ops/reductions/reductions.h"
#include "testing/error_without_lines.h"
#include "testing/goodness_of_fit.h"
#include "testing/host_tensors.h"
#include "testing/op_test.h"
#include "transform/grad.h"
#include "transform/random/samplers.h"
#include "transform/vmap.h"

namespace axle {
namespace {

using random::Key;
using random::PrngImpl;
using ::testing::StartsWith;
using GammaSampler = std::function<Tensor(const Key& key, const Shape& shape)>;

HostTensor gamma_draw(const GammaSampler& sampler, const Shape& shape,
                      PrngImpl impl = PrngImpl::kThreefry2x32) {
  return testing::run([&](const Values& v) { return sampler(Key::wrap(v[0], impl), shape); },
                      {random::key_words(42, impl)});
}

void expect_close(const HostTensor& x, const std::vector<double>& expected,
                  double tolerance = 1e-5) {
  ASSERT_EQ(x.size(), static_cast<int64_t>(expected.size()));
  for (int64_t i = 0; i < x.size(); ++i) {
    const double e = expected[static_cast<size_t>(i)];
    EXPECT_NEAR(x.at(i), e, tolerance * std::abs(e)) << "at " << i;
  }
}

const HostTensor kShapes({4}, {0.3f, 1.f, 2.5f, 20.f});

TEST(RandomGamma, ValuesAreThoseOfJax) {
  const GammaSampler gamma = [](const Key& k, const Shape& s) {
    return random::gamma(k, s, constant(kShapes));
  };
  expect_close(gamma_draw(gamma, {4}), {0.43624744, 0.33158407, 4.1941113, 17.719715});
  expect_close(gamma_draw(gamma, {4}, PrngImpl::kRbg),
               {2.5782863e-05, 0.9273919, 0.6949802, 21.200676});
}

TEST(RandomGamma, LogarithmsReachBelowTheSmallestFloat) {
  expect_close(
      gamma_draw(
          [](const Key& k, const Shape& s) {
            return random::loggamma(k, s, constant(HostTensor({4}, {1e-3f, 0.3f, 2.5f, 20.f})));
          },
          {4}),
      {-537.9234, -1.1391261, 1.4336815, 2.8746781});
}

// t(3), chisquare(3), f(3, 5), generalized_normal(1.5) and ball(3, 1.5)
TEST(RandomGamma, RelatedSamplersAreThoseOfJax) {
  expect_close(
      gamma_draw([](const Key& k, const Shape& s) { return random::student_t(k, s, scalar(3)); },
                 {4}),
      {0.08987478, -1.7357467, 2.352019, 1.1635191});
  expect_close(
      gamma_draw([](const Key& k, const Shape& s) { return random::chisquare(k, s, scalar(3)); },
                 {4}),
      {5.870714, 1.397851, 5.5594234, 1.4829895});
  expect_close(
      gamma_draw(
          [](const Key& k, const Shape& s) { return random::f_ratio(k, s, scalar(3), scalar(5)); },
          {4}),
      {0.7283635, 0.3569255, 0.23560737, 0.15563177});
  expect_close(
      gamma_draw([](const Key& k,
                    const Shape& s) { return random::generalized_normal(k, s, scalar(1.5)); },
                 {4}),
      {-0.87823755, -0.20616245, 1.160471, 0.10202969});
  expect_close(
      gamma_draw([](const Key& k, const Shape& s) { return random::ball(k, s, 3, scalar(1.5)); },
                 {2}),
      {0.34366795, 0.05199319, 0.017910156, 0.376013, -0.07180141, 0.2809016});
}

struct Row {
  const char* name;
  GammaSampler sampler;
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
    testing::expect_distribution(gamma_draw(row.sampler, {2000}), row.cdf);
  }
}

TEST(RandomGamma, ValuesOfOtherKeysFollowTheDensity) {
  testing::expect_distribution(gamma_draw(kRows[1].sampler, {500}, PrngImpl::kRbg), kRows[1].cdf);
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

// Returns the gradients of sum(weights * sampler(key, parameters)) in the parameters.
using Draws = std::function<Tensor(const Key& key, const Values& parameters)>;
std::vector<HostTensor> gradients(const Draws& sampler, const std::vector<HostTensor>& parameters,
                                  const HostTensor& weights,
                                  PrngImpl impl = PrngImpl::kThreefry2x32) {
  const auto of_loss = [&](const Values& v) {
    const Key key = Key::wrap(v[0], impl);
    const auto loss = [&](const Values& p) {
      return Values{sum(sampler(key, p) * constant(weights))};
    };
    return value_and_grad(loss, Values(v.begin() + 1, v.end())).second;
  };
  std::vector<HostTensor> arguments{random::key_words(42, impl)};
  arguments.insert(arguments.end(), parameters.begin(), parameters.end());
  return eval(of_loss, arguments);
}

struct GradientRow {
  const char* name;
  Draws sampler;
  std::vector<HostTensor> parameters;
  std::vector<std::vector<double>> expected;
};

// Numbers of jax.grad of JAX 0.10.2, in f32.
TEST(RandomGamma, GradientsAreThoseOfJax) {
  const Shape four = {4};
  const HostTensor one = HostTensor::ones({1}), b({4}, {2.f, 0.5f, 1.f, 5.f}),
                   df({4}, {1.5f, 3.f, 8.f, 40.f}), reversed({4}, {40.f, 8.f, 3.f, 1.5f});
  const GradientRow rows[] = {
      {"gamma",
       [&](const Key& k, const Values& p) { return random::gamma(k, four, p[0]); },
       {kShapes},
       {{1.8602113723754883, 0.6333830952644348, 1.3690077066421509, 0.9485646486282349}}},
      {"loggamma",
       [&](const Key& k, const Values& p) { return random::loggamma(k, four, p[0]); },
       {kShapes},
       {{4.264120101928711, 1.9101735353469849, 0.3264118731021881, 0.05353157967329025}}},
      {"beta",
       [&](const Key& k, const Values& p) { return random::beta(k, four, p[0], p[1]); },
       {kShapes, b},
       {{0.6800848245620728, 0.018654363229870796, 0.018650058656930923, 0.004339747130870819},
        {-0.07977698743343353, -0.08192729949951172, -0.11920362710952759, -0.025946246460080147}}},
      {"student_t",
       [&](const Key& k, const Values& p) { return random::student_t(k, four, p[0]); },
       {df},
       {{-0.03806161880493164, 0.5787922143936157, -0.040645938366651535, -0.001241477089934051}}},
      {"chisquare",
       [&](const Key& k, const Values& p) { return random::chisquare(k, four, p[0]); },
       {df},
       {{1.771668553352356, 0.7395602464675903, 1.284531593322754, 0.9485645294189453}}},
      {"f_ratio",
       [&](const Key& k, const Values& p) { return random::f_ratio(k, four, p[0], p[1]); },
       {df, reversed},
       {{0.21764826774597168, 0.15431874990463257, 0.020074255764484406, 0.042200714349746704},
        {3.514345735311508e-05, -0.02030278369784355, 0.003625050187110901, -15.53620719909668}}},
      {"generalized_normal",
       [&](const Key& k, const Values& p) { return random::generalized_normal(k, four, p[0]); },
       {HostTensor::scalar(1.5f)},
       {{-0.19662794470787048}}}};
  const auto expect_gradients = [](const GradientRow& row, const HostTensor& weights) {
    SCOPED_TRACE(row.name);
    const auto actual = gradients(row.sampler, row.parameters, weights);
    ASSERT_EQ(actual.size(), row.expected.size());
    for (size_t i = 0; i < actual.size(); ++i) {
      ASSERT_EQ(actual[i].size(), static_cast<int64_t>(row.expected[i].size()));
      double largest = 0;
      for (const double e : row.expected[i]) largest = std::max(largest, std::abs(e));
      for (int64_t k = 0; k < actual[i].size(); ++k)
        EXPECT_NEAR(actual[i].at(k), row.expected[i][static_cast<size_t>(k)], 1e-4 * largest);
    }
  };
  for (const GradientRow& row : rows) expect_gradients(row, one);
  const HostTensor weights({3}, {1.f, -2.f, 3.f});
  expect_gradients({"dirichlet",
                    [](const Key& k, const Values& p) { return random::dirichlet(k, {2}, p[0]); },
                    {HostTensor({3}, {0.5f, 1.f, 4.f})},
                    {{-0.5072569251060486, -1.1206501722335815, 0.1930670142173767}}},
                   weights);
  expect_gradients({"ball",
                    [](const Key& k, const Values& p) { return random::ball(k, {2}, 3, p[0]); },
                    {HostTensor::scalar(1.5f)},
                    {{0.5722825527191162}}},
                   weights);
}

// The gradient depends on the draw and the parameter alone.
TEST(RandomGamma, GradientsOfOtherKeysAndUnderVmapAreThoseOfTheDraws) {
  const HostTensor one = HostTensor::ones({1});
  const auto expected = [](const HostTensor& draws) {
    return testing::run([](const Values& v) { return random::gamma_gradient(v[0], v[1]); },
                        {kShapes, draws});
  };
  const auto whole = [](const Key& k, const Values& p) { return random::gamma(k, {4}, p[0]); };
  const GammaSampler drawn = [&](const Key& k, const Shape&) {
    return whole(k, {constant(kShapes)});
  };
  EXPECT_EQ(gradients(whole, {kShapes}, one, PrngImpl::kRbg)[0],
            expected(gamma_draw(drawn, {4}, PrngImpl::kRbg)));
  const auto each = [](const Key& k, const Values& p) {
    return vmap([](const Values& v) { return Values{random::gamma(Key::wrap(v[0]), {}, v[1])}; },
                {random::split(k, 4).data(), p[0]})[0];
  };
  const GammaSampler drawn_each = [&](const Key& k, const Shape&) {
    return each(k, {constant(kShapes)});
  };
  EXPECT_EQ(gradients(each, {kShapes}, one)[0], expected(gamma_draw(drawn_each, {4})));
}

TEST(RandomGamma, HasNoSecondDerivative) {
  const auto first = [](const Values& v) {
    const auto loss = [&](const Values& a) {
      return Values{sum(random::gamma(Key::wrap(v[0]), {3}, a[0]))};
    };
    return Values{sum(value_and_grad(loss, {v[1]}).second[0])};
  };
  const auto second = [&](const Values& v) {
    const auto loss = [&](const Values& a) { return first({v[0], a[0]}); };
    return value_and_grad(loss, {v[1]}).second;
  };
  EXPECT_THROW(eval(second, {random::key_words(1), HostTensor::scalar(2.f)}), ShapeError);
}

// Samplers are made of other samplers, which an error does not name.
TEST(RandomGamma, MistakesNameTheSampler) {
  Region region;
  const TraceScope scope(region);
  const Key key = random::random_key(0);
  const Tensor one = scalar(1), wide = zeros({3}), whole = zeros({2}, DType::kI32);
  const auto error = [](const auto& call) { return error_without_lines<ShapeError>(call); };
  using OfTensor = Tensor (*)(const Key&, const Shape&, const Tensor&);
  const std::tuple<const char*, const char*, OfTensor> rows[] = {
      {"gamma", "a", random::gamma},
      {"loggamma", "a", random::loggamma},
      {"chisquare", "df", random::chisquare},
      {"student_t", "df", random::student_t},
      {"generalized_normal", "p", random::generalized_normal},
  };
  for (const auto& [name, parameter, sampler] : rows) {
    EXPECT_EQ(error([&, s = sampler] { s(key, {2}, wide); }),
              fmt::format("the top level: random::{}: expected {} to broadcast to [2], got f32[3]; "
                          "operands: f32[3] of the top level (full)",
                          name, parameter));
    EXPECT_EQ(error([&, s = sampler] { s(key, {2}, whole); }),
              fmt::format("the top level: random::{}: expected a floating-point {}, got i32[2]; "
                          "operands: i32[2] of the top level (full)",
                          name, parameter));
  }
  EXPECT_THAT(error([&] { random::beta(key, {2}, one, whole); }),
              StartsWith("the top level: random::beta: expected a floating-point b, got i32[2]"));
  EXPECT_THAT(error([&] { random::f_ratio(key, {2}, one, wide); }),
              StartsWith("the top level: random::f_ratio: expected denominator_df to broadcast"));
  EXPECT_THAT(error([&] { random::dirichlet(key, {2}, one); }),
              StartsWith("the top level: random::dirichlet: expected alpha[.., n]"));
  EXPECT_THAT(
      error([&] {
        random::dirichlet(key, {2}, zeros({3, 4}));
      }),
      StartsWith("the top level: random::dirichlet: expected alpha to broadcast to [2, 4]"));
  EXPECT_THAT(error([&] { random::ball(key, {2}, 3, wide); }),
              StartsWith("the top level: random::ball: expected a scalar p"));
  EXPECT_THAT(error([&] { random::ball(key, {2}, -3, one); }),
              StartsWith("the top level: random::ball: expected sizes of at least 0, got [2, -3]"));
}

}  // namespace
}  // namespace axle
