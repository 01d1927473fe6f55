// The law that a plugin computes what the interpreter computes, over the samples of all ops and at
// special values.
#include <gmock/gmock.h>

#include "lower/stablehlo.h"
#include "runtime/plugin.h"
#include "runtime/runtime.h"
#include "testing/op_samples.h"
#include "transform/trace.h"

namespace axle {
namespace {

using testing::op_samples;
using testing::OpSample;
namespace samples = testing::samples;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class OpExecution : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!find_plugin(plugin_policy("cpu")))
      GTEST_SKIP() << "no CPU plugin: " << plugin_policy("cpu").how_to_get;
    runtime_ = make_runtime({});
  }

  // Tolerances are relative to the largest finite element of the result.
  void expect_same(const OpSample& sample) {
    SCOPED_TRACE(std::string(sample.op));
    std::vector<Type> types;
    std::vector<ProgramValue> inputs, outputs;
    for (const HostTensor& x : sample.inputs) {
      types.push_back(x.type());
      inputs.push_back({.name = "x", .type = x.type()});
    }
    const std::shared_ptr<Region> region = trace(sample.fn, types);
    for (const Tensor& t : region->results()) outputs.push_back({.name = "y", .type = t.type()});
    const std::vector<HostTensor> expected = evaluate(*region, sample.inputs);
    const auto executable = runtime_->compile(lower(region, "sample", inputs, outputs));
    Arrays arguments;
    for (const HostTensor& x : sample.inputs) arguments.push_back(runtime_->make_array(x, {}, {}));
    const Arrays y = executable->execute(arguments);
    ASSERT_EQ(y.size(), expected.size());
    for (size_t i = 0; i < y.size(); ++i) expect_close(y[i]->to_host(), expected[i]);
  }

  static void expect_close(const HostTensor& actual, const HostTensor& expected) {
    ASSERT_EQ(actual.type(), expected.type());
    double largest = 0;
    for (int64_t i = 0; i < expected.size(); ++i) {
      if (std::isfinite(expected.at(i))) largest = std::max(largest, std::abs(expected.at(i)));
    }
    const double tolerance = !is_float(expected.dtype())        ? 0
                             : expected.dtype() == DType::kBF16 ? 1e-2
                                                                : 2e-6;
    for (int64_t i = 0; i < expected.size(); ++i) {
      const double a = actual.at(i), e = expected.at(i);
      if (std::isfinite(e))
        EXPECT_NEAR(a, e, tolerance * largest) << "at " << i << ", input " << actual.text();
      else
        EXPECT_TRUE(std::isnan(e) ? std::isnan(a) : a == e)
            << "at " << i << ": " << a << " instead of " << e;
    }
  }
  std::unique_ptr<Runtime> runtime_;
};

TEST_F(OpExecution, EveryOpGivesWhatTheInterpreterGives) {
  for (const OpSample& sample : op_samples()) expect_same(sample);
}

TEST_F(OpExecution, Bf16) {
  const HostTensor x = samples::uniform({3, 4}).astype(DType::kBF16);
  for (const auto f : {softmax, log_softmax}) {
    expect_same(samples::call("softmax", {x}, [f](const Values& v) { return f(v[0], -1); }));
  }
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

}  // namespace
}  // namespace axle
