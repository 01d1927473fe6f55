// Law: a plugin computes what the interpreter computes, over the samples of all ops and at special
// values.
#include <fmt/format.h>
#include <gmock/gmock.h>

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

TEST_F(OpExecution, OpsMatchTheInterpreter) {
  for (const OpSample& sample : op_samples()) {
    std::string types;
    for (const HostTensor& x : sample.inputs) types += to_text(x.type()) + " ";
    SCOPED_TRACE(types);
    expect_same(sample);
  }
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

// Returns rows of 8 elements with NaN, infinities, both zeros and ties.
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

TEST_F(OpExecution, WindowsOverSpecialValuesAndPadding) {
  const HostTensor x = special_values();
  // The first and the last window lie in the padding.
  const Window window{.sizes = {1, 2}, .strides = {1, 2}, .padding = {{0, 0}, {3, 3}}};
  for (auto* fn : {reduce_window_sum, reduce_window_max, reduce_window_min}) {
    const auto reduced = [=](const Values& v) { return fn(v[0], window); };
    expect_same(samples::call("reduce_window", {x}, reduced));
    expect_same(samples::call("reduce_window", {x.astype(DType::kBF16)}, reduced));
  }
  for (const WindowSelect select : {WindowSelect::kLargest, WindowSelect::kLeast}) {
    expect_same(samples::call("selected_positions", {x}, [=](const Values& v) {
      return selected_positions(v[0], window, select);
    }));
    expect_same(samples::call(
        "select_and_scatter_add", {x, samples::uniform({3, 7})},
        [=](const Values& v) { return select_and_scatter_add(v[0], v[1], window, select); }));
  }
}

TEST_F(OpExecution, Bf16Convolutions) {
  const HostTensor x = samples::uniform({2, 6, 3}).astype(DType::kBF16),
                   kernel = samples::uniform({2, 3, 4}, -1, 1, 3).astype(DType::kBF16);
  for (const DType dtype : {DType::kBF16, DType::kF32}) {
    expect_same(samples::call("convolution", {x, kernel}, [dtype](const Values& v) {
      return convolution(v[0], v[1], {.result_dtype = dtype, .precision = Precision::kHighest});
    }));
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

// A constant of any dtype reaches the device exactly.
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
  for (const DType dtype :
       {DType::kI4, DType::kI8, DType::kI16, DType::kU4, DType::kU8, DType::kU16, DType::kF8E4M3FN,
        DType::kF8E5M2, DType::kF16, DType::kBF16}) {
    for (const double v : {-3.3, 0.1, 1e9}) numbers.push_back(HostTensor::scalar(v).astype(dtype));
  }
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
    EXPECT_EQ(actual[i], numbers[i / 2]) << actual[i].text() << " " << numbers[i / 2].text();
    EXPECT_EQ(expected[i], numbers[i / 2]);
  }
}

}  // namespace
}  // namespace axle
