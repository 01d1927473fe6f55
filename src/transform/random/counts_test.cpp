// Numbers of JAX 0.10 for jax.random.key(42), and goodness of fit.
#include <cmath>
#include <limits>

#include "base/error.h"
#include "ops/create.h"
#include "ops/random/random.h"
#include "testing/error_without_lines.h"
#include "testing/goodness_of_fit.h"
#include "testing/op_test.h"
#include "transform/random/samplers.h"

namespace axle {
namespace {

using random::Key;
using random::PrngImpl;
using testing::elements;
using ::testing::ElementsAre;
using ::testing::StartsWith;
using Sampler = std::function<Tensor(const Key& key, const Shape& shape)>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

HostTensor draw(const Sampler& sampler, const Shape& shape,
                PrngImpl impl = PrngImpl::kThreefry2x32) {
  return testing::run([&](const Values& v) { return sampler(Key::wrap(v[0], impl), shape); },
                      {random::key_words(42, impl)});
}

Sampler poisson(const HostTensor& rate) {
  return [=](const Key& k, const Shape& s) { return random::poisson(k, s, constant(rate)); };
}
Sampler binomial(const HostTensor& n, const HostTensor& p) {
  return [=](const Key& k, const Shape& s) {
    return random::binomial(k, s, constant(n), constant(p));
  };
}

double poisson_probability(double rate, int64_t k) {
  const auto x = static_cast<double>(k);
  return std::exp(x * std::log(rate) - rate - std::lgamma(x + 1));
}
double binomial_probability(double n, double p, int64_t k) {
  const auto x = static_cast<double>(k);
  if (x > n) return 0;
  return std::exp(std::lgamma(n + 1) - std::lgamma(x + 1) - std::lgamma(n - x + 1) +
                  x * std::log(p) + (n - x) * std::log(1 - p));
}

TEST(RandomCounts, PoissonIsThatOfJax) {
  EXPECT_THAT(elements(draw(poisson(HostTensor::scalar(30.f)), {8})),
              ElementsAre(34, 35, 24, 26, 22, 25, 27, 22));
  EXPECT_THAT(elements(draw(poisson(HostTensor({6}, {0.f, 0.5f, 4.f, 12.f, 100.f, 1e4f})), {6})),
              ElementsAre(0, 1, 2, 9, 86, 9906));
}

TEST(RandomCounts, PoissonFollowsItsProbabilities) {
  for (const float rate : {0.7f, 4.f, 12.f, 60.f}) {
    for (const PrngImpl impl : {PrngImpl::kThreefry2x32, PrngImpl::kRbg}) {
      SCOPED_TRACE(rate);
      testing::expect_counts(draw(poisson(HostTensor::scalar(rate)), {4000}, impl),
                             [&](int64_t k) { return poisson_probability(rate, k); });
    }
  }
}

TEST(RandomCounts, PoissonOfNoRate) {
  EXPECT_THAT(
      elements(draw(poisson(HostTensor({5}, {-1.f, kInfinity, kNan, 0.f, -kInfinity})), {5})),
      ElementsAre(-1, -1, -1, 0, -1));
}

TEST(RandomCounts, BinomialIsThatOfJax) {
  const HostTensor n({6}, {5.f, 20.f, 100.f, 1000.f, 50.f, 10.f});
  const HostTensor p({6}, {0.3f, 0.5f, 0.5f, 0.01f, 0.9f, 0.95f});
  EXPECT_THAT(elements(draw(binomial(n, p), {6})), ElementsAre(1, 10, 55, 7, 43, 9));
}

TEST(RandomCounts, BinomialFollowsItsProbabilities) {
  for (const auto& [n, p] : {std::pair(7.f, 0.3f), {20.f, 0.6f}, {100.f, 0.4f}, {60.f, 0.8f}}) {
    SCOPED_TRACE(n);
    testing::expect_counts(draw(binomial(HostTensor::scalar(n), HostTensor::scalar(p)), {4000}),
                           [&, n = n, p = p](int64_t k) { return binomial_probability(n, p, k); });
  }
}

TEST(RandomCounts, BinomialAtItsLimits) {
  const HostTensor n({7}, {0.f, 5.f, 5.f, -1.f, kInfinity, 5.f, kNan});
  const HostTensor p({7}, {0.5f, 0.f, 1.f, 0.5f, 0.5f, 1.5f, 0.5f});
  const auto x = elements(draw(binomial(n, p), {7}));
  EXPECT_EQ(x[0], 0);
  EXPECT_EQ(x[1], 0);
  EXPECT_EQ(x[2], 5);
  EXPECT_EQ(x[4], kInfinity);
  for (const size_t i : {3, 5, 6}) EXPECT_TRUE(std::isnan(x[i])) << i;
}

// jax.random.multinomial(key, 20, [0.1, 0.2, 0.3, 0.4])
TEST(RandomCounts, Multinomial) {
  const HostTensor p({4}, {0.1f, 0.2f, 0.3f, 0.4f});
  const Sampler sampler = [&](const Key& k, const Shape& s) {
    return random::multinomial(k, s, scalar(20), constant(p));
  };
  EXPECT_THAT(elements(draw(sampler, {})), ElementsAre(1, 2, 4, 13));
  const HostTensor many = draw(sampler, {4000});
  ASSERT_EQ(many.shape(), Shape({4000, 4}));
  for (int64_t outcome = 0; outcome < 4; ++outcome) {
    HostTensor counts(Type{DType::kF32, {4000}});
    for (int64_t i = 0; i < 4000; ++i)
      counts.values<float>()[static_cast<size_t>(i)] = static_cast<float>(many.at(4 * i + outcome));
    testing::expect_counts(counts,
                           [&](int64_t k) { return binomial_probability(20, p.at(outcome), k); });
  }
  for (int64_t i = 0; i < 4000; ++i) {
    EXPECT_EQ(many.at(4 * i) + many.at(4 * i + 1) + many.at(4 * i + 2) + many.at(4 * i + 3), 20);
  }
}

// Samplers are made of other samplers, which an error does not name.
TEST(RandomCounts, MistakesNameTheSampler) {
  Region region;
  const TraceScope scope(region);
  const Key key = random::random_key(0);
  const auto expect = [](const char* error, const std::function<void()>& call) {
    EXPECT_THAT(error_without_lines<ShapeError>(call),
                StartsWith(std::string("the top level: random::") + error));
  };
  expect("poisson: expected an integer dtype for the result",
         [&] { random::poisson(key, {2}, scalar(3), DType::kF32); });
  expect("poisson: expected rate to broadcast to [2], got f32[3]; operands: f32[3] of",
         [&] { random::poisson(key, {2}, zeros({3})); });
  expect("binomial: expected n to broadcast to [2], got f32[3]; operands: f32[3] of",
         [&] { random::binomial(key, {2}, zeros({3}), scalar(0.5)); });
  expect("binomial: expected p in the dtype of n, f32, got f64[]",
         [&] { random::binomial(key, {2}, scalar(3), scalar(0.5, DType::kF64)); });
  expect("multinomial: expected probabilities p[.., k]",
         [&] { random::multinomial(key, {2}, scalar(3), scalar(0.5)); });
  expect("multinomial: expected p to broadcast to [2, 4], got f32[3, 4]", [&] {
    random::multinomial(key, {2}, scalar(3), zeros({3, 4}));
  });
}

}  // namespace
}  // namespace axle
