#include <gtest/gtest.h>

#include "ops/annotate.h"
#include "ops/ops.h"
#include "plan/compile_report.h"
#include "transform/call.h"
#include "transform/control_flow/control_flow.h"
#include "transform/grad.h"
#include "transform/remat/remat.h"
#include "transform/trace.h"

namespace axle {
namespace {

const Type kSquare{DType::kF32, {4, 4}};  // 64 bytes

GraphCost cost_of(const TensorFunction& fn, const std::vector<Type>& types = {kSquare}) {
  return graph_cost(*trace(fn, types));
}
double bytes_of(const std::function<Tensor(const Tensor&)>& fn) {
  return cost_of([&](const Values& x) { return Values{fn(x[0])}; }).bytes;
}
double flops_of(const std::function<Tensor(const Tensor&)>& fn) {
  return cost_of([&](const Values& x) { return Values{fn(x[0])}; }).flops;
}
Values two_exps(const Values& x) { return {exp(exp(x[0]))}; }

TEST(GraphCost, OpsReadTheirOperandsAndWriteTheirResults) {
  EXPECT_EQ(bytes_of([](const Tensor& x) { return exp(x); }), 64 + 64);
  EXPECT_EQ(bytes_of([](const Tensor& x) { return x * x; }), 2 * 64 + 64);
  EXPECT_EQ(bytes_of([](const Tensor& x) { return dot(x, x); }), 2 * 64 + 64);
}

TEST(GraphCost, OpsWithoutArithmeticReadAndWriteToo) {
  EXPECT_EQ(bytes_of([](const Tensor& x) { return astype(x, DType::kBF16); }), 64 + 32);
  EXPECT_EQ(bytes_of([](const Tensor& x) { return transpose(x, {1, 0}); }), 64 + 64);
  EXPECT_EQ(bytes_of([](const Tensor& x) { return concatenate({x, x}, 0); }), 2 * 64 + 128);
  EXPECT_EQ(bytes_of([](const Tensor& x) {
              return broadcast_in_dim(x, {3, 4, 4}, {1, 2});
            }),
            64 + 3 * 64);
}

TEST(GraphCost, PartialReadsAndWritesCountOnlyTheirPart) {
  EXPECT_EQ(bytes_of([](const Tensor& x) { return slice_in_dim(x, 0, 1, 2); }), 16 + 16);
  EXPECT_EQ(bytes_of([](const Tensor& x) {
              return take(x, constant(HostTensor({2}, {0, 3})));
            }),
            2 * 32 + 8 + 8);  // 8 + 8: the indices are written once and read once
  const auto update = [](const Values& x) {
    return Values{dynamic_update_slice(x[0], x[1], {x[2], x[2]})};
  };
  EXPECT_EQ(cost_of(update, {kSquare, {DType::kF32, {1, 4}}, {DType::kI32, {}}}).bytes,
            2 * (16 + 4 + 4));
}

TEST(GraphCost, ViewsMoveNothing) {
  EXPECT_EQ(bytes_of([](const Tensor& x) { return name(x, "x"); }), 0);
  EXPECT_EQ(bytes_of([](const Tensor& x) { return stop_gradient(x); }), 0);
  EXPECT_EQ(bytes_of([](const Tensor& x) { return optimization_barrier({x})[0]; }), 0);
  EXPECT_EQ(bytes_of([](const Tensor& x) { return place(x, Memory::kHost); }), 0);
  EXPECT_EQ(bytes_of([](const Tensor& x) { return sharding_constraint(x, {{"data"}}); }), 0);
  EXPECT_EQ(bytes_of([](const Tensor& x) { return reshape(x, {16}); }), 0);
  EXPECT_EQ(bytes_of([](const Tensor& x) { return bitcast_convert(x, DType::kI32); }), 0);
}

TEST(GraphCost, OpsThatOnlyMoveNumbersHaveNoFlops) {
  EXPECT_EQ(flops_of([](const Tensor& x) { return transpose(x, {1, 0}); }), 0);
  EXPECT_EQ(flops_of([](const Tensor& x) { return reshape(x, {16}); }), 0);
  EXPECT_EQ(flops_of([](const Tensor& x) { return reverse(x, {0}); }), 0);
  EXPECT_EQ(flops_of([](const Tensor& x) { return concatenate({x, x}, 0); }), 0);
  EXPECT_EQ(flops_of([](const Tensor& x) { return slice_in_dim(x, 0, 1, 2); }), 0);
  EXPECT_EQ(flops_of([](const Tensor& x) { return broadcast_in_dim(x, {3, 4, 4}, {1, 2}); }), 0);
  EXPECT_EQ(flops_of([](const Tensor& x) { return pad(x, 0, {1, 1}, {1, 1}, {0, 0}); }), 0);
}

TEST(GraphCost, ReductionsHaveAFlopForEachElementOfTheirOperand) {
  EXPECT_EQ(flops_of([](const Tensor& x) { return reduce_sum(x, {0}); }), 16);
  EXPECT_EQ(flops_of([](const Tensor& x) { return reduce_prod(x, {0, 1}); }), 16);
  EXPECT_EQ(flops_of([](const Tensor& x) { return reduce_max(x, {1}); }), 16);
  EXPECT_EQ(flops_of([](const Tensor& x) { return reduce_min(x, {1}); }), 16);
  EXPECT_EQ(flops_of([](const Tensor& x) { return cumsum(x, 0); }), 16);
}

// A window of n elements takes n - 1 operations.
TEST(GraphCost, WindowsHaveAFlopForEachElementButTheFirst) {
  const Window window{.sizes = {2, 3}};  // 3 x 2 windows
  EXPECT_EQ(flops_of([&](const Tensor& x) { return reduce_window_sum(x, window); }), 6 * 5);
  EXPECT_EQ(flops_of([&](const Tensor& x) { return reduce_window_max(x, window); }), 6 * 5);
  EXPECT_EQ(flops_of([&](const Tensor& x) { return reduce_window_min(x, window); }), 6 * 5);
}

TEST(GraphCost, ProductsHaveTwoFlopsForEachPairOfElements) {
  EXPECT_EQ(flops_of([](const Tensor& x) { return dot(x, x); }), 2 * 4 * 4 * 4);
  const auto ragged = [](const Values& x) { return Values{ragged_dot(x[0], x[1], x[2])}; };
  const std::vector<Type> types = {
      {DType::kF32, {5, 4}}, {DType::kF32, {2, 4, 3}}, {DType::kI32, {2}}};
  EXPECT_EQ(cost_of(ragged, types).flops, 2 * 5 * 4 * 3);  // each row meets one matrix
}

TEST(GraphCost, RealTransformsHaveHalfTheFlopsOfComplexOnes) {
  // 5 n log2(n) for each of 4 lines of 4
  EXPECT_EQ(
      cost_of([](const Values& x) { return Values{fft(x[0])}; }, {{DType::kC64, {4, 4}}}).flops,
      4 * 5 * 4 * 2);
  EXPECT_EQ(flops_of([](const Tensor& x) { return rfft(x); }), 4 * 5 * 4 * 2 / 2);
}

TEST(GraphCost, RegionsCountAsWhatTheyContain) {
  const GraphCost plain = cost_of(two_exps);
  EXPECT_EQ(plain.bytes, 2 * (64 + 64));
  EXPECT_EQ(plain.flops, 2 * 16 * 8);
  for (const TensorFunction& fn : {
           TensorFunction([](const Values& x) { return call("twice", two_exps, x); }),
           TensorFunction([](const Values& x) { return remat(two_exps, x, save_nothing()); }),
       }) {
    EXPECT_EQ(cost_of(fn).bytes, plain.bytes);
    EXPECT_EQ(cost_of(fn).flops, plain.flops);
  }
}

TEST(GraphCost, LoopsCountInEachIteration) {
  const auto loop = [](const Values& x) {
    const ScanBody inner = [](const Values& carry, const Values&) -> ScanResult {
      return {two_exps(carry), {}};
    };
    const ScanBody outer = [&](const Values& carry, const Values&) -> ScanResult {
      return {scan(inner, carry, {}, 5).carry, {}};
    };
    return scan(outer, x, {}, 3).carry;
  };
  EXPECT_EQ(cost_of(loop).bytes, 3 * 5 * 2 * (64 + 64));
  EXPECT_EQ(cost_of(loop).flops, 3 * 5 * 2 * 16 * 8);
}

// The residuals of the custom rule do not count, because there is no backward pass here.
TEST(GraphCost, CustomGradientsCountOnlyTheirOutputs) {
  const CustomVjp rule = {
      .name = "exp_and_more",
      .forward =
          [](const Values& x) {
            return WithResiduals{{exp(x[0])}, {tanh(exp(x[0]))}};
          },
      .backward = [](const Values& r, const Values& g) { return Values{g[0] * r[0]}; }};
  const GraphCost cost = cost_of([&](const Values& x) { return custom_vjp(rule, x); });
  EXPECT_EQ(cost.bytes, 64 + 64);
  EXPECT_EQ(cost.flops, 16 * 8);
}

}  // namespace
}  // namespace axle
