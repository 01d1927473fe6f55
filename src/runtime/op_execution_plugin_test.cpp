// The law that a plugin computes what the interpreter computes, over the samples of all ops, at
// special values and for all samplers.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "ops/rules.h"
#include "testing/op_samples.h"
#include "testing/plugin_fixture.h"

namespace axle {
namespace {

using testing::op_samples;
using testing::OpSample;
namespace samples = testing::samples;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class OpExecution : public PluginTest {
 protected:
  void expect_same(const OpSample& sample) {
    SCOPED_TRACE(std::string(sample.op));
    PluginTest::expect_same(sample.fn, sample.inputs, 2e-6);
  }
};

TEST_F(OpExecution, EveryOpGivesWhatTheInterpreterGives) {
  for (const OpSample& sample : op_samples()) expect_same(sample);
}

TEST_F(OpExecution, Bf16) {
  const HostTensor x = samples::uniform({3, 4}).astype(DType::kBF16);
  expect_same(samples::call("softmax", {x}, [](const Values& v) { return softmax(v[0]); }));
  expect_same(samples::call("log_softmax", {x}, [](const Values& v) { return log_softmax(v[0]); }));
  expect_same(samples::call("logsumexp", {x}, [](const Values& v) { return logsumexp(v[0]); }));
  expect_same(
      samples::call("reduce_sum", {x}, [](const Values& v) { return reduce_sum(v[0], {1}); }));
  expect_same(
      samples::call("reduce_max", {x}, [](const Values& v) { return reduce_max(v[0], {1}); }));
  expect_same(samples::call("cumsum", {x}, [](const Values& v) { return cumsum(v[0], 1); }));
  expect_same(samples::call("sort", {x}, [](const Values& v) { return sort(v[0], 1); }));
  expect_same(samples::call("top_k", {x}, [](const Values& v) { return top_k(v[0], 2).second; }));
  for (const samples::Unary f : {exp, tanh, logistic, erf, silu, gelu, rsqrt})
    expect_same(samples::one("unary", x, f));
}

// NaN, infinities, both zeros and ties, along a line of 8.
HostTensor special_values() {
  const auto inf = static_cast<float>(kInfinity);
  return HostTensor({3, 8},
                    {1.f,  kNan, -0.f, inf,  0.f,  -inf, -1.f, kNan, 0.f,  -0.f, 2.f,  2.f,
                     -0.f, 0.f,  -3.f, -3.f, -inf, -inf, -inf, -inf, -inf, -inf, -inf, -inf});
}

TEST_F(OpExecution, SpecialValues) {
  const HostTensor x = special_values();
  using samples::call;
  using samples::one;
  for (const SortOrder order : {SortOrder::kAscending, SortOrder::kDescending}) {
    expect_same(call("sort", {x}, [order](const Values& v) { return sort(v[0], 1, order); }));
    expect_same(call("argsort", {x}, [order](const Values& v) { return argsort(v[0], 1, order); }));
  }
  expect_same(one("argmax", x, [](const Tensor& t) { return argmax(t); }));
  expect_same(one("argmin", x, [](const Tensor& t) { return argmin(t); }));
  expect_same(one("reduce_max", x, [](const Tensor& t) { return reduce_max(t, {1}); }));
  expect_same(one("reduce_min", x, [](const Tensor& t) { return reduce_min(t, {1}); }));
  expect_same(one("cummax", x, [](const Tensor& t) { return cummax(t, 1); }));
  expect_same(one("softmax", x, [](const Tensor& t) { return softmax(t); }));
  expect_same(one("logsumexp", x, [](const Tensor& t) { return logsumexp(t); }));
  expect_same(one("top_k", x, [](const Tensor& t) { return top_k(t, 4).first; }));
  expect_same(one("convert", x, [](const Tensor& t) { return astype(t, DType::kI32); }));
  expect_same(one("clamp", x, [](const Tensor& t) { return clamp(-1, t, 1); }));
  for (const samples::Unary f : {abs, sign, floor, exp, log, log1p, sqrt, rsqrt, tanh, logistic,
                                 erf, erfc, erf_inv, relu, is_finite, is_nan, softplus}) {
    expect_same(one("unary", x, f));
  }
}

TEST_F(OpExecution, TiesOfTopKGoToTheFirst) {
  const HostTensor x({2, 6}, {1.f, 3.f, 3.f, 2.f, 3.f, 0.f, 5.f, 5.f, 5.f, 5.f, 5.f, 5.f});
  expect_same(samples::one("top_k", x, [](const Tensor& t) { return top_k(t, 4).second; }));
}

TEST_F(OpExecution, IntegersDivideByZeroAndOverflow) {
  const int32_t low = std::numeric_limits<int32_t>::min();
  const HostTensor a({4}, {7, low, -7, low}), b({4}, {0, -1, 0, 2});
  expect_same(samples::two("div", a, b, operator/));
  expect_same(samples::two("rem", a, b, remainder));
  expect_same(samples::two("mul", a, a, operator*));
}

// Draws through logarithms differ in their last bits; all others are exact.
TEST_F(OpExecution, SamplersGiveWhatTheInterpreterGives) {
  const std::vector<HostTensor> key{random::key(17)};
  const auto exact = [&](const TensorFunction& fn) { EXPECT_EQ(run(fn, key), eval(fn, key)); };
  exact([](const Values& k) { return Values{random::split(k[0], 5), random::fold_in(k[0], 3)}; });
  exact([](const Values& k) {
    return Values{random::bits(k[0], 8, {7}), random::bits(k[0], 32, {3, 5}),
                  random::bits(k[0], 64, {2, 2})};
  });
  exact([](const Values& k) {
    return Values{random::uniform(k[0], {4, 3}), random::uniform(k[0], {9}, DType::kBF16),
                  random::uniform(k[0], {4}, DType::kF64)};
  });
  exact([](const Values& k) {
    return Values{random::bernoulli(k[0], {20}, 0.3), random::rademacher(k[0], {9})};
  });
  exact([](const Values& k) {
    return Values{random::permutation(k[0], 100), random::choice(k[0], 20, {5})};
  });
  PluginTest::expect_same(
      [](const Values& k) {
        return Values{
            random::normal(k[0], {50}),      random::truncated_normal(k[0], {50}, -2, 2),
            random::exponential(k[0], {50}), random::gumbel(k[0], {50}),
            random::laplace(k[0], {50}),     random::uniform(k[0], {50}, DType::kF32, -2, 5)};
      },
      key, 1e-6);
}

template <class T>
void push_edges(std::vector<int64_t>& out) {
  using Limits = std::numeric_limits<T>;
  for (const T v :
       {Limits::min(), static_cast<T>(Limits::min() + 1), static_cast<T>(Limits::max() - 1),
        Limits::max(), static_cast<T>(Limits::max() / 3)}) {
    if (std::in_range<int64_t>(v)) out.push_back(static_cast<int64_t>(v));
  }
}

// Every pair of bounds that the dtype has, from small and negative ones to the ends of its range
// and beyond what a double holds.
TEST_F(OpExecution, IntegersAreDrawnAlikeBetweenAllBounds) {
  const std::vector<HostTensor> key{random::key(5)};
  for (const DType dtype : {DType::kI32, DType::kI64, DType::kU32, DType::kU64}) {
    std::vector<int64_t> bounds{-2, 0, 3, 100, (int64_t{1} << 53) + 1, -(int64_t{1} << 53) - 1};
    dispatch(dtype, [&]<class T>(std::type_identity<T>) {
      if constexpr (detail::Integer<T>) push_edges<T>(bounds);
    });
    std::erase_if(bounds, [&](int64_t v) { return !Scalar(v).fits(dtype); });
    std::vector<std::pair<int64_t, int64_t>> intervals;
    for (const int64_t low : bounds) {
      for (const int64_t high : bounds) {
        if (low < high) intervals.emplace_back(low, high);
      }
    }
    intervals.emplace_back(3, 3);  // empty: gives its lower end
    const TensorFunction draw = [&](const Values& k) {
      Values out;
      for (const auto& [low, high] : intervals)
        out.push_back(random::randint(k[0], {10}, low, high, dtype));
      return out;
    };
    const auto actual = run(draw, key), expected = eval(draw, key);
    for (size_t i = 0; i < intervals.size(); ++i) {
      const auto& [low, high] = intervals[i];
      EXPECT_EQ(actual[i], expected[i])
          << name_of(dtype) << " in [" << low << ", " << high << "): " << actual[i].text()
          << " against " << expected[i].text();
      for (int64_t j = 0; j < expected[i].size(); ++j) {
        const Scalar drawn = expected[i].element(j);
        const auto offset = drawn.as<uint64_t>() - static_cast<uint64_t>(low);
        EXPECT_LT(offset,
                  std::max<uint64_t>(static_cast<uint64_t>(high) - static_cast<uint64_t>(low), 1))
            << drawn.text() << " in [" << low << ", " << high << ")";
      }
    }
  }
}

// Bounds of floats: negative, far apart, as close as they can be, infinite.
TEST_F(OpExecution, FloatsAreDrawnAlikeBetweenAllBounds) {
  const std::vector<HostTensor> key{random::key(6)};
  for (const DType dtype : {DType::kBF16, DType::kF32, DType::kF64}) {
    for (const auto& [low, high] : std::vector<std::pair<double, double>>{
             {-3, -1}, {-1e30, 1e30}, {1, 1 + 0x1p-7}, {1e-30, 2e-30}, {-kInfinity, 0}, {5, 5}}) {
      SCOPED_TRACE(fmt::format("{} in [{}, {})", name_of(dtype), low, high));
      const auto draw = [&, from = low, to = high](const Values& k) {
        return Values{random::uniform(k[0], {20}, dtype, from, to)};
      };
      PluginTest::expect_same(draw, key, 1e-6);
    }
    for (const auto& [low, high] : std::vector<std::pair<double, double>>{
             {-2, 2}, {-30, -2}, {1, kInfinity}, {-kInfinity, kInfinity}, {0, 0x1p-4}}) {
      SCOPED_TRACE(fmt::format("{} truncated to [{}, {}]", name_of(dtype), low, high));
      const auto draw = [&, from = low, to = high](const Values& k) {
        return Values{random::truncated_normal(k[0], {20}, from, to, dtype)};
      };
      PluginTest::expect_same(draw, key, 1e-6);
    }
  }
  for (const double p : {-1.0, 0.0, 0x1p-40, 0.5, 1 - 0x1p-24, 1.0, 2.0}) {
    const auto draw = [p](const Values& k) { return Values{random::bernoulli(k[0], {50}, p)}; };
    EXPECT_EQ(run(draw, key), eval(draw, key)) << p;
  }
}

// A constant reaches the device as it was written, whatever its dtype.
TEST_F(OpExecution, ConstantsAreExact) {
  std::vector<HostTensor> numbers;
  for (const int64_t v : {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(),
                          (int64_t{1} << 53) + 1, int64_t{-1}, int64_t{0}})
    numbers.push_back(HostTensor::scalar(v));
  for (const uint64_t v : {std::numeric_limits<uint64_t>::max(), (uint64_t{1} << 63) + 1})
    numbers.push_back(HostTensor::scalar(v));
  for (const uint32_t v : {std::numeric_limits<uint32_t>::max(), uint32_t{1}})
    numbers.push_back(HostTensor::scalar(v));
  for (const int32_t v : {std::numeric_limits<int32_t>::min(), int32_t{-1}})
    numbers.push_back(HostTensor::scalar(v));
  for (const double v : {0.1, -0.0, 0x1p-1074, kInfinity, std::numeric_limits<double>::max()})
    numbers.push_back(HostTensor::scalar(v));
  for (const float v : {0.1f, -0.0f, 0x1p-149f}) numbers.push_back(HostTensor::scalar(v));
  numbers.push_back(HostTensor::scalar(BF16(0.1f)));
  numbers.push_back(HostTensor::scalar(true));
  const TensorFunction fn = [&](const Values&) {
    Values out;
    for (const HostTensor& v : numbers) {
      out.push_back(constant(v));
      out.push_back(full({}, v.element(0), v.dtype()));
    }
    return out;
  };
  const auto actual = run(fn, {}), expected = eval(fn, {});
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(actual[i], numbers[i / 2]);
    EXPECT_EQ(expected[i], numbers[i / 2]);
  }
}

}  // namespace
}  // namespace axle
