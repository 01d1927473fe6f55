#include <gmock/gmock.h>

#include "ir/text/text_form.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/products/products.h"
#include "testing/error_of.h"
#include "testing/gradient_check.h"
#include "transform/kernel/kernels.h"
#include "transform/vmap.h"

namespace axle {
namespace {

using testing::check_gradients;
using testing::expect_near;
using ::testing::HasSubstr;
using testing::normal_values;
using ::testing::Not;

// exp(scale * x) @ w: neither a gradient nor a batching rule of its own.
const Kernel plain_kernel{.name = "scaled_exp",
                          .fallback = [](const Values& v, const KernelAttributes& a) {
                            return Values{dot(exp(v[0] * a.get<double>("scale")), v[1])};
                          }};

Values scaled_exp(const Values& v) { return kernel_call(plain_kernel, v, {{{"scale", 0.5}}}); }

const HostTensor kX = normal_values({3, 4}, 1), kW = normal_values({4, 2}, 2);

TEST(KernelCall, TheInterpreterRunsTheFallback) {
  const auto by_ops = [](const Values& v) { return Values{dot(exp(v[0] * 0.5), v[1])}; };
  EXPECT_EQ(eval(scaled_exp, {kX, kW}), eval(by_ops, {kX, kW}));
  const auto gate = [](const Values& v) { return Values{gated_silu(v[0], v[1])}; };
  const auto gate_by_ops = [](const Values& v) { return Values{silu(v[0]) * v[1]}; };
  EXPECT_EQ(eval(gate, {kX, kX}), eval(gate_by_ops, {kX, kX}));
}

TEST(KernelCall, AKernelWithoutAGradientHasThatOfTheFallback) {
  check_gradients(scaled_exp, {kX, kW});
}

TEST(KernelCall, TheGradientOfAKernelMayBeAKernel) {
  const auto gate = [](const Values& v) { return Values{gated_silu(v[0], v[1])}; };
  check_gradients(gate, {kX, normal_values({3, 4}, 3)});
  const auto graph = trace(
      [&](const Values& v) {
        return value_and_grad([&](const Values& x) { return Values{sum(gate(x)[0])}; }, v).second;
      },
      {kX.type(), kX.type()});
  EXPECT_THAT(print(*graph), HasSubstr("gated_silu_vjp"));
}

TEST(KernelCall, AForwardPassStaysAKernelUnderDifferentiation) {
  const auto graph = trace(
      [&](const Values& v) {
        return value_and_grad([](const Values& x) { return Values{sum(scaled_exp(x)[0])}; }, v)
            .first;
      },
      {kX.type(), kW.type()});
  EXPECT_THAT(print(*graph), HasSubstr("kernel_call"));
}

// Returns fn of each example, stacked.
TensorFunction looped(const TensorFunction& fn, const std::vector<bool>& batched, int64_t size) {
  return [=](const Values& v) {
    Values results;
    for (int64_t i = 0; i < size; ++i) {
      Values example;
      for (size_t j = 0; j < v.size(); ++j)
        example.push_back(batched[j] ? index_in_dim(v[j], 0, i) : v[j]);
      results.push_back(fn(example)[0]);
    }
    return Values{stack(results)};
  };
}

TEST(KernelCall, AVmapIsALoopOverTheBatch) {
  const HostTensor x = normal_values({5, 3, 4}, 4), w = normal_values({5, 4, 2}, 5);
  const auto expect_loop = [](const TensorFunction& fn, const std::vector<HostTensor>& inputs,
                              const std::vector<bool>& batched) {
    VmapOptions options;
    for (const bool b : batched)
      options.in_axes.push_back(b ? std::optional<int64_t>(0) : std::nullopt);
    const auto of_batch = [&](const Values& v) { return vmap(fn, v, options); };
    expect_near(eval(of_batch, inputs)[0], eval(looped(fn, batched, 5), inputs)[0], 1e-6);
  };
  expect_loop(scaled_exp, {x, kW}, {true, false});
  expect_loop(scaled_exp, {kX, w}, {false, true});
  expect_loop(scaled_exp, {x, w}, {true, true});
  const auto gate = [](const Values& v) { return Values{gated_silu(v[0], v[1])}; };
  expect_loop(gate, {x, kX}, {true, false});
  const auto slope = [&](const Values& v) {
    return value_and_grad([&](const Values& a) { return Values{sum(gate(a)[0])}; }, v).second;
  };
  expect_loop(slope, {kX, x}, {false, true});
}

// Counts a word in the graph of vmap(fn).
std::string batched_graph(const TensorFunction& fn, const Shape& second) {
  const auto of_batch = [&](const Values& v) { return vmap(fn, v); };
  return print(*trace(of_batch, {{DType::kF32, {5, 3, 4}}, {DType::kF32, second}}));
}

TEST(KernelCall, OnlyAKernelWithoutABatchingRuleBecomesALoop) {
  EXPECT_THAT(batched_graph(scaled_exp, {5, 4, 2}), HasSubstr("scan"));
  const auto gate = [](const Values& v) { return Values{gated_silu(v[0], v[1])}; };
  EXPECT_THAT(batched_graph(gate, {5, 3, 4}), Not(HasSubstr("scan")));
}

TEST(KernelCall, AGateHasTheTypeOfItsOperand) {
  EXPECT_THAT(error_of<ShapeError>([] {
                trace([](const Values& v) { return Values{gated_silu(v[0], v[1])}; },
                      {{DType::kF32, {3, 4}}, {DType::kF32, {4}}});
              }),
              HasSubstr("expected a gate and an x of one type"));
}

}  // namespace
}  // namespace axle
