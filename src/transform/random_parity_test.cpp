// Compares random numbers with JAX's threefry in its partitionable form.
//
// Not covered:
//   functions that Axle does not have: rbg keys; beta, dirichlet, gamma, poisson; randint in u8
//   8 and 16 random bits: Axle cannot read the dtypes of their reference numbers
//   (ops/random/random_test.cpp has some)
#include <gtest/gtest.h>

#include <cmath>

#include "io/safetensors.h"
#include "ops/create.h"
#include "ops/elementwise/exponential.h"
#include "ops/random/random.h"
#include "testing/checkout.h"
#include "transform/trace.h"

namespace axle {
namespace {

const std::string kFile = reference_file("jax/random.safetensors");

// JAX drew the numbers with 32-bit seeds: its seed -1 is this seed here.
constexpr int64_t kMinusOne = 0xffffffff;
std::string seed_there(int64_t seed) { return seed == kMinusOne ? "-1" : std::to_string(seed); }

class RandomParity : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override { file_ = std::make_unique<SafetensorsFile>(kFile); }
  HostTensor expected(std::string_view name) const {
    return file_->get("threefry2x32/" + seed_there(GetParam()) + "/" + std::string(name));
  }
  static HostTensor draw(const std::function<Tensor(const Tensor&)>& sampler) {
    return eval([&](const Values& v) { return Values{sampler(v[0])}; },
                {random::key(GetParam())})[0];
  }
  void expect_exact(std::string_view name,
                    const std::function<Tensor(const Tensor&)>& sampler) const {
    const HostTensor got = draw(sampler), want = expected(name);
    EXPECT_EQ(got.astype(want.dtype()), want)
        << name << ": " << got.text(16) << " against " << want.text(16);
  }
  // Expects values within 4 ulp of each expected number, or of `scale` if that is larger. The last
  // step of some samplers subtracts numbers of size `scale`, and only their rounding (fused or not)
  // differs.
  void expect_near(std::string_view name, const std::function<Tensor(const Tensor&)>& sampler,
                   double scale = 0) const {
    const HostTensor got = draw(sampler), want = expected(name);
    ASSERT_EQ(got.type(), want.type()) << name;
    for (int64_t i = 0; i < want.size(); ++i) {
      const double unit =
          std::ldexp(1.0, std::max(std::ilogb(std::max(std::abs(want.at(i)), scale)), -126) - 23);
      EXPECT_NEAR(got.at(i), want.at(i), 4 * unit) << name << " at " << i;
    }
  }

 private:
  std::unique_ptr<SafetensorsFile> file_;
};

TEST_P(RandomParity, Keys) {
  EXPECT_EQ(random::key(GetParam()), expected("key"));
  expect_exact("split3", [](const Tensor& k) { return random::split(k, 3); });
  expect_exact("fold_in7", [](const Tensor& k) { return random::fold_in(k, 7); });
  const HostTensor four = draw([](const Tensor& k) { return random::split(k, 4); });
  EXPECT_EQ(four.reshaped({2, 2, 2}), expected("split2x2"));
}

TEST_P(RandomParity, ExactSamplers) {
  const Shape shape{3, 5};
  expect_exact("bits_uint32", [&](const Tensor& k) { return random::bits(k, 32, shape); });
  expect_exact("uniform", [](const Tensor& k) { return random::uniform(k, {4, 3}); });
  expect_exact("uniform_bf16",
               [](const Tensor& k) { return random::uniform(k, {9}, DType::kBF16); });
  expect_exact("bernoulli_0.3", [](const Tensor& k) { return random::bernoulli(k, {10}, 0.3); });
  expect_exact("rademacher", [](const Tensor& k) { return random::rademacher(k, {8}); });
  expect_exact("randint_-7_100", [](const Tensor& k) { return random::randint(k, {11}, -7, 100); });
  expect_exact("permutation", [](const Tensor& k) { return random::permutation(k, 13); });
  expect_exact("choice", [](const Tensor& k) {
    return random::choice(k, 20, {5}, random::Replacement::kWithout);
  });
}

TEST_P(RandomParity, Floats) {
  expect_near(
      "uniform_-2_5", [](const Tensor& k) { return random::uniform(k, {7}, DType::kF32, -2, 5); },
      2);
  expect_near("normal", [](const Tensor& k) { return random::normal(k, {4, 3}); });
  expect_near(
      "truncated_normal", [](const Tensor& k) { return random::truncated_normal(k, {6}, -2, 2); },
      1);
  expect_near("exponential", [](const Tensor& k) { return random::exponential(k, {5}); });
  expect_near(
      "gumbel", [](const Tensor& k) { return random::gumbel(k, {5}); }, 1);
  expect_near("laplace", [](const Tensor& k) { return random::laplace(k, {5}); });
}

// tools/oracle/jax_numbers.py uses the same probabilities.
TEST_P(RandomParity, Categorical) {
  const HostTensor p({2, 3}, {0.1f, 0.2f, 0.7f, 0.5f, 0.25f, 0.25f});
  expect_exact("categorical",
               [&](const Tensor& k) { return random::categorical(k, log(constant(p)), -1, {6}); });
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomParity, ::testing::Values(kMinusOne, 0, 1, 42, 2147483647),
                         [](const auto& seed) { return std::to_string(seed.param); });

}  // namespace
}  // namespace axle
