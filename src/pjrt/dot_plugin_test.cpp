// Products of dtypes and algorithms on the plugin.
#include <gmock/gmock.h>

#include "ops/elementwise/elementwise.h"
#include "ops/products/products.h"
#include "testing/op_samples.h"
#include "testing/plugin_fixture.h"

namespace axle {
namespace {

using testing::samples::uniform;

class DotExecution : public PluginTest {};

TEST_F(DotExecution, ComplexNumbers) {
  using C = std::complex<float>;
  const HostTensor a({2, 2}, {C(1, 2), C(0, -0.5), C(3, 0), C(1, -1)}),
      b({2, 3}, {C(0.5, 1), C(2, 0), C(0, -1), C(0, 1), C(-1, 0.5), C(1.5, 0)});
  const auto fn = [](const Values& v) { return Values{dot(v[0], v[1])}; };
  EXPECT_EQ(run(fn, {a, b})[0], eval(fn, {a, b})[0]);
}

// The CPU plugin takes every algorithm. It multiplies f32 operands as they are, so that it is
// compared with the product in f32, up to the error that the algorithm allows.
TEST_F(DotExecution, EveryAlgorithm) {
  const HostTensor a = uniform({6, 33}), b = uniform({33, 5}, -1, 1, 3);
  struct Case {
    DotAlgorithm algorithm;
    DType operand, result;
    double tolerance;
  };
  using enum DotAlgorithm;
  using enum DType;
  for (const Case& c : {Case{kAnyF8AnyF8F32, kF8E4M3FN, kF32, 1e-6},
                        {kAnyF8AnyF8Any, kF8E5M2, kBF16, 1e-6},
                        {kAnyF8AnyF8F32FastAccum, kF8E4M3FN, kF32, 1e-2},
                        {kAnyF8AnyF8AnyFastAccum, kF8E4M3FN, kBF16, 1e-2},
                        {kF16F16F16, kF16, kF16, 1e-2},
                        {kF16F16F32, kF16, kF32, 1e-6},
                        {kBF16BF16BF16, kBF16, kBF16, 1e-2},
                        {kBF16BF16F32, kBF16, kF32, 1e-6},
                        {kBF16BF16F32, kF32, kF32, 1e-2},
                        {kBF16BF16F32X3, kF32, kF32, 1e-4},
                        {kBF16BF16F32X6, kF32, kF32, 1e-6},
                        {kBF16BF16F32X9, kF32, kF32, 1e-6},
                        {kTF32TF32F32, kF32, kF32, 1e-3},
                        {kTF32TF32F32X3, kF32, kF32, 1e-6},
                        {kF32F32F32, kF32, kF32, 1e-6},
                        {kF64F64F64, kF64, kF64, 1e-12}}) {
    SCOPED_TRACE(name_of(c.algorithm));
    expect_same(
        [&](const Values& v) {
          return Values{dot(v[0], v[1], {.result_dtype = c.result, .algorithm = c.algorithm})};
        },
        {a.astype(c.operand), b.astype(c.operand)}, c.tolerance);
  }
}

TEST_F(DotExecution, IntegersInFloats) {
  HostTensor a = uniform({6, 33}, -127, 127, 2), b = uniform({33, 5}, -127, 127, 3);
  for (HostTensor* x : {&a, &b}) {
    for (float& v : x->values<float>()) v = std::nearbyint(v);
  }
  for (const DotAlgorithm algorithm : {DotAlgorithm::kI8I8I32, DotAlgorithm::kI8I8I32Backward}) {
    const auto fn = [&](const Values& v) {
      return Values{dot(v[0], v[1], {.result_dtype = DType::kF32, .algorithm = algorithm})};
    };
    expect_same(fn, {a, b}, 0);
    expect_same(fn, {a.astype(DType::kBF16), b.astype(DType::kBF16)}, 0);
    EXPECT_EQ(eval(fn, {a, b})[0],
              eval([](const Values& v) { return Values{dot(v[0], v[1])}; }, {a, b})[0]);
  }
}

TEST_F(DotExecution, SaturatingCasts) {
  const float inf = std::numeric_limits<float>::infinity();
  const HostTensor x(
      {8}, {500.f, -1e6f, inf, -inf, 3.3f, 460.f, 448.f, std::numeric_limits<float>::quiet_NaN()});
  expect_same(
      [](const Values& v) {
        Values out;
        for (const DType dtype : {DType::kF8E4M3FN, DType::kF8E5M2, DType::kF16})
          out.push_back(astype(astype_saturating(v[0], dtype), DType::kF32));
        return out;
      },
      {x}, 0);
}

}  // namespace
}  // namespace axle
