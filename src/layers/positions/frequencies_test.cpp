// Frequencies against published formulas, and against numbers of tools/oracle/rope_frequencies.py,
// which computes them a second way.
#include "layers/positions/frequencies.h"

#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <numbers>

#include "layers/positions/rotation.h"
#include "testing/error_of.h"
#include "testing/op_test.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

// Expects the frequencies of the pairs 0, 1, n/4, n/2 - 3, n/2, 3n/4 and n - 1.
void expect_frequencies(const Frequencies& f, const std::array<double, 7>& expected) {
  const size_t n = f.radians.size();
  const size_t at[] = {0, 1, n / 4, n / 2 - 3, n / 2, 3 * n / 4, n - 1};
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(f.radians[at[i]] / expected[i], 1, 2e-6) << "pair " << at[i];
}

TEST(PlainFrequencies, FallByTheSameFactorFromPairToPair) {
  const Frequencies f = PlainFrequencies{}({.theta = 10000, .dim = 8});
  EXPECT_EQ(f.radians.size(), 4u);
  EXPECT_EQ(f.scale, 1);
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(f.radians[i] * std::pow(10.0, i), 1, 1e-12);
}

TEST(LinearFrequencies, MatchReferenceNumbers) {
  const Frequencies f = LinearFrequencies{.factor = 4}({.theta = 1e4, .dim = 128});
  expect_frequencies(f, {0.25, 0.2164911, 0.025, 0.003849816, 0.0025, 0.00025, 2.886955e-05});
}

TEST(DividedFrequencies, LongDivisorsNeedTheOriginalLength) {
  const FrequencySpec spec{.theta = 100, .dim = 4};
  DividedFrequencies own{.divisors = std::vector<Positive<double>>{1, 2}, .long_divisors = {4, 5}};
  const auto error = [&] { return error_of<ConfigError>([&] { own(spec); }); };
  EXPECT_THAT(error(),
              HasSubstr("long_divisors and original_len together, got long_divisors alone"));
  own.original_len = 8;
  const Frequencies f = own(spec);
  EXPECT_EQ(f.long_from, 8);
  EXPECT_THAT(f.radians, ::testing::ElementsAre(1, ::testing::DoubleEq(0.1 / 2)));
  EXPECT_THAT(f.long_radians, ::testing::ElementsAre(0.25, ::testing::DoubleEq(0.1 / 5)));
  own.long_divisors = {4};
  EXPECT_THAT(error(), HasSubstr("expected 2 divisors, one for each pair, got 1"));
  own.long_divisors = {};
  EXPECT_THAT(error(), HasSubstr("got original_len alone"));
}

// Each row by itself: the second one has a position from 8 on.
TEST(Angles, RowsThatReachLongPositionsUseLongFrequencies) {
  const Frequencies f{.radians = {1, 0.5}, .long_radians = {0.25, 2}, .long_from = 8};
  const HostTensor angles = testing::run([&](const Values& x) { return angles_of(x[0], f); },
                                         {HostTensor({2, 2}, {0, 7, 1, 8})});
  EXPECT_EQ(angles, HostTensor({2, 2, 2}, {0.f, 0.f, 7.f, 3.5f, 0.25f, 2.f, 2.f, 16.f}));
}

TEST(DividedFrequencies, DivideEachFrequencyByItsOwnNumber) {
  const FrequencySpec spec{.theta = 1e4, .dim = 8};
  const Frequencies f = DividedFrequencies{.divisors = std::vector<Positive<double>>{1, 2, 4, 0.5},
                                           .attention_factor = 1.5}(spec);
  const Frequencies plain = PlainFrequencies{}(spec);
  EXPECT_EQ(f.radians, (std::vector<double>{plain.radians[0], plain.radians[1] / 2,
                                            plain.radians[2] / 4, plain.radians[3] / 0.5}));
  EXPECT_EQ(f.scale, 1.5);
  const auto error = [&](std::vector<Positive<double>> divisors) {
    return error_of<ConfigError>([&] { DividedFrequencies{.divisors = divisors}(spec); });
  };
  EXPECT_EQ(error({1, 2, 3}), "expected 4 divisors, one for each pair, got 3");
  EXPECT_EQ(error({1, 2, 0, 3}), "expected positive divisors, got 0 for pair 2");
  EXPECT_EQ(error({1, 2, 3, std::nan("")}), "expected positive divisors, got nan for pair 3");
}

TEST(NTKFrequencies, MatchReferenceNumbers) {
  const Frequencies f = NTKFrequencies{.factor = 4}({.theta = 1e4, .dim = 128});
  expect_frequencies(
      f, {1, 0.8471172, 0.07032275, 0.00813507, 0.00494529, 0.0003477664, 2.886955e-05});
}

TEST(NTKFrequencies, HighestIsKeptAndLowestIsDivided) {
  const FrequencySpec spec{.theta = 500, .dim = 10};
  const Frequencies f = NTKFrequencies{.factor = 3}(spec), plain = PlainFrequencies{}(spec);
  EXPECT_EQ(f.radians.front(), 1);
  EXPECT_NEAR(f.radians.back() * 3, plain.radians.back(), 1e-12);
  EXPECT_EQ(NTKFrequencies{.factor = 3}({.dim = 2}).radians, std::vector<double>{1});
}

// Of a row of L positions they are as in NTKFrequencies with the factor to which the base grows.
TEST(DynamicFrequencies, FallWithTheLengthBeyondTheOriginalOne) {
  const FrequencySpec spec{.theta = 100, .dim = 6};
  const Frequencies own = DynamicFrequencies{.factor = 3, .original_len = 4}(spec),
                    plain = PlainFrequencies{}(spec);
  const HostTensor angles = testing::run([&](const Values& x) { return angles_of(x[0], own); },
                                         {HostTensor({2, 2}, {1, 3, 1, 9})});
  const std::vector<double> grown = NTKFrequencies{.factor = 3 * 10 / 4.0 - 2}(spec).radians;
  for (size_t i = 0; i < 3; ++i) {
    const auto pair = static_cast<int64_t>(i);
    EXPECT_EQ(angles.at(pair), static_cast<float>(plain.radians[i])) << i;
    EXPECT_NEAR(angles.at(6 + pair), grown[i], 1e-6) << i;
    EXPECT_NEAR(angles.at(9 + pair), 9 * grown[i], 1e-5) << i;
  }
}

TEST(Llama3Frequencies, MatchReferenceNumbers) {
  const Frequencies f =
      Llama3Frequencies{.factor = 8, .original_len = 8192}({.theta = 5e5, .dim = 128});
  expect_frequencies(
      f, {1, 0.8146172, 0.03760603, 0.002166571, 0.000524846, 6.647871e-06, 3.068926e-07});
}

TEST(Llama3Frequencies, BlendBetweenLowAndHigh) {
  const Llama3Frequencies scaling{
      .factor = 2, .low_freq_factor = 2, .high_freq_factor = 6, .original_len = 100};
  const FrequencySpec spec{.theta = 100, .dim = 16};
  const Frequencies f = scaling(spec), plain = PlainFrequencies{}(spec);
  int num_blended = 0;
  for (size_t i = 0; i < 8; ++i) {
    const double wavelength = 2 * std::numbers::pi / plain.radians[i];
    double expected = plain.radians[i];
    if (wavelength > 100.0 / 2) {
      expected /= 2;
    } else if (wavelength > 100.0 / 6) {
      const double kept = (100 / wavelength - 2) / 4;
      expected = (1 - kept) * expected / 2 + kept * expected;
      ++num_blended;
    }
    EXPECT_NEAR(f.radians[i], expected, 1e-12) << i;
  }
  EXPECT_EQ(num_blended, 2);
}

TEST(Llama3Frequencies, LowIsBelowHigh) {
  const Llama3Frequencies scaling{.factor = 2, .low_freq_factor = 4, .original_len = 100};
  EXPECT_EQ(error_of<ConfigError>([&] { scaling({.dim = 4}); }),
            "expected low_freq_factor < high_freq_factor, got 4 and 4");
}

TEST(YaRNFrequencies, MatchReferenceNumbers) {
  const Frequencies qwen =
      YaRNFrequencies{.factor = 4, .original_len = 32768}({.theta = 1e6, .dim = 128});
  expect_frequencies(
      qwen, {1, 0.8058422, 0.03162278, 0.001405112, 0.0006029411, 7.905694e-06, 3.102344e-07});
  EXPECT_NEAR(qwen.scale, 0.1 * std::log(4.0) + 1, 1e-12);
  const Frequencies gpt_oss = YaRNFrequencies{
      .factor = 32, .original_len = 4096, .whole_indices = false}({.theta = 1.5e5, .dim = 64});
  expect_frequencies(
      gpt_oss, {1, 0.6890443, 0.05081328, 0.003860359, 0.0004564839, 4.099978e-06, 3.023511e-07});
  const Frequencies deepseek = YaRNFrequencies{
      .factor = 40, .original_len = 4096, .attention_factor = 1}({.theta = 1e4, .dim = 64});
  expect_frequencies(deepseek, {1, 0.7498942, 0.1, 0.01837814, 0.0055, 2.5e-05, 3.333804e-06});
  EXPECT_EQ(deepseek.scale, 1);
}

TEST(YaRNFrequencies, OriginalLengthOfOneDividesAllButTheFirstPair) {
  const FrequencySpec spec{.theta = 1e4, .dim = 128};
  const Frequencies f = YaRNFrequencies{.factor = 2, .original_len = 1}(spec),
                    plain = PlainFrequencies{}(spec);
  EXPECT_EQ(f.radians[0], plain.radians[0]);
  for (size_t i = 1; i < 64; ++i) EXPECT_NEAR(f.radians[i] * 2, plain.radians[i], 1e-12) << i;
}

TEST(YaRNFrequencies, RefuseSettingsWithoutABlend) {
  EXPECT_EQ(error_of<ConfigError>([] {
              YaRNFrequencies{.factor = 2, .original_len = 10, .beta_slow = 32}({.dim = 4});
            }),
            "expected beta_slow < beta_fast, got 32 and 32");
  EXPECT_EQ(error_of<ConfigError>(
                [] { YaRNFrequencies{.factor = 2, .original_len = 10}({.theta = 1, .dim = 4}); }),
            "expected theta > 1, got 1; YaRN needs its logarithm");
}

// A factor of 1 changes nothing.
TEST(Frequencies, FactorOneIsPlain) {
  const FrequencySpec spec{.theta = 1e4, .dim = 16};
  const std::vector<double> plain = PlainFrequencies{}(spec).radians;
  EXPECT_EQ(LinearFrequencies{.factor = 1}(spec).radians, plain);
  EXPECT_EQ(NTKFrequencies{.factor = 1}(spec).radians, plain);
  EXPECT_EQ((Llama3Frequencies{.factor = 1, .original_len = 64}(spec).radians), plain);
  const Frequencies yarn = YaRNFrequencies{.factor = 1, .original_len = 64}(spec);
  EXPECT_EQ(yarn.radians, plain);
  EXPECT_EQ(yarn.scale, 1);
}

}  // namespace
}  // namespace axle
