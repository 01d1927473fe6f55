#include "nn/init.h"

#include <gtest/gtest.h>

#include "ops/random/random.h"
#include "testing/error_of.h"
#include "transform/trace.h"

namespace axle {
namespace {

HostTensor init_draw(const Init& init, const InitSpec& spec) {
  return eval([&](const Values& key) { return Values{init(spec).draw(random::Key::wrap(key[0]))}; },
              {random::key_words(1)})[0];
}
struct Moments {
  double mean, deviation, largest;
};
Moments moments(const HostTensor& x) {
  double sum = 0, squares = 0, largest = 0;
  for (int64_t i = 0; i < x.size(); ++i) {
    sum += x.at(i);
    squares += x.at(i) * x.at(i);
    largest = std::max(largest, std::abs(x.at(i)));
  }
  const auto n = static_cast<double>(x.size());
  return {sum / n, std::sqrt(squares / n), largest};
}

TEST(Init, ConstantsFillTheShapeInItsDtype) {
  EXPECT_EQ(init_draw(Constant{.value = 2.5}, {.shape = {2}, .dtype = DType::kBF16}),
            HostTensor::full({2}, 2.5, DType::kBF16));
  EXPECT_EQ(init_draw(Ones{}, {.shape = {3}}), HostTensor::ones({3}));
  EXPECT_EQ(init_draw(Zeros{}, {.shape = {}}), HostTensor::zeros({}));
}

// Every distribution has the standard deviation sqrt(scale / fan), for every choice of the fan.
TEST(Init, VarianceIsTheScaleOverTheFan) {
  constexpr double kIn = 400, kOut = 100;
  const InitSpec spec{.shape = {400, 100}};
  for (const Distribution distribution :
       {Distribution::kUniform, Distribution::kNormal, Distribution::kTruncatedNormal}) {
    for (const auto& [fan, size] :
         {std::pair(Fan::kIn, kIn), {Fan::kOut, kOut}, {Fan::kAverage, (kIn + kOut) / 2}}) {
      const Moments m = moments(
          init_draw(VarianceScaling{.scale = 2, .fan = fan, .distribution = distribution}, spec));
      const double expected = std::sqrt(2 / size);
      EXPECT_NEAR(m.deviation, expected, 0.02 * expected)
          << to_text(distribution) << ", " << to_text(fan);
      EXPECT_NEAR(m.mean, 0, 0.02 * expected);
      if (distribution == Distribution::kUniform) {
        EXPECT_LE(m.largest, expected * std::sqrt(3.0));
      }
      if (distribution == Distribution::kTruncatedNormal) {
        EXPECT_LE(m.largest, 2.01 * expected / 0.87962566103423978);
      }
    }
  }
}

TEST(Init, ScaleIsTheDeviationIfThereIsNoFan) {
  const InitSpec spec{.shape = {200, 200}};
  const VarianceScaling normal{
      .scale = 0.02, .fan = Fan::kNone, .distribution = Distribution::kNormal};
  EXPECT_NEAR(moments(init_draw(normal, spec)).deviation, 0.02, 5e-4);
  EXPECT_EQ(Init(normal)(spec).text, "normal(0, 0.02)");
  VarianceScaling other = normal;
  other.distribution = Distribution::kTruncatedNormal;
  EXPECT_NEAR(moments(init_draw(other, spec)).deviation, 0.02, 5e-4);
  EXPECT_NEAR(moments(init_draw(other, spec)).largest, 2 * 0.02 / 0.87962566103423978, 2e-5);
  other.distribution = Distribution::kUniform;
  EXPECT_NEAR(moments(init_draw(other, spec)).largest, 0.02, 1e-5);
}

TEST(Init, GaussianIsTheScaledAndMovedNormal) {
  const InitSpec spec{.shape = {200, 200}};
  const Moments m = moments(init_draw(Gaussian{.std = 0.02, .mean = 3}, spec));
  EXPECT_NEAR(m.mean, 3, 5e-4);
  EXPECT_NEAR(std::sqrt(m.deviation * m.deviation - m.mean * m.mean), 0.02, 5e-3);
  EXPECT_EQ(
      init_draw(Gaussian{.std = 0.02}, spec),
      init_draw(
          VarianceScaling{.scale = 0.02, .fan = Fan::kNone, .distribution = Distribution::kNormal},
          spec));
  EXPECT_EQ(Init(Gaussian{.std = 0.02, .mean = 3})(spec).text, "normal(3.0, 0.02^2)");
}

// Batch dims are copies. A dim that is neither in, out nor batch belongs to the receptive field.
TEST(Init, FansCountTheAxesThatTheSpecNames) {
  const VarianceScaling by_in{.scale = 1, .fan = Fan::kIn, .distribution = Distribution::kNormal};
  const InitSpec stacked{.shape = {8, 100, 50}, .fan = {.in = {-2}, .out = {-1}, .batch = {-3}}};
  EXPECT_NEAR(moments(init_draw(by_in, stacked)).deviation, 0.1, 0.003);
  const InitSpec window{.shape = {8, 100, 50}, .fan = {.in = {-2}, .out = {-1}}};
  EXPECT_NEAR(moments(init_draw(by_in, window)).deviation, std::sqrt(1 / 800.0), 0.001);
}

TEST(Init, FanAxesMustBeDims) {
  EXPECT_EQ(error_of([] { init_draw(VarianceScaling{}, {.shape = {3}}); }),
            "fan axes must be dims of the parameter, got -2 for shape [3]; name them, or an "
            "initialiser without fan");
}

TEST(Init, NamesReadAsTheyPrint) {
  for (const Fan fan : {Fan::kIn, Fan::kOut, Fan::kAverage, Fan::kNone}) {
    Fan read = Fan::kIn;
    from_text(to_text(fan), read);
    EXPECT_EQ(read, fan);
  }
  Distribution distribution = Distribution::kUniform;
  from_text("truncated_normal", distribution);
  EXPECT_EQ(distribution, Distribution::kTruncatedNormal);
  EXPECT_EQ(error_of([&] { from_text("gaussian", distribution); }),
            "expected uniform, normal or truncated_normal, got 'gaussian'");
}

}  // namespace
}  // namespace axle
