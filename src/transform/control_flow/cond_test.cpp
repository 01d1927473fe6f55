#include <gmock/gmock.h>

#include <cmath>

#include "ir/text/text_form.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reductions/reductions.h"
#include "testing/error_without_lines.h"
#include "testing/gradient_check.h"
#include "testing/host_tensors.h"
#include "transform/control_flow/control_flow.h"
#include "transform/grad.h"
#include "transform/remat/remat.h"
#include "transform/vmap.h"

namespace axle {
namespace {

using testing::check_gradients;
using testing::normal_values;

// Three branches that keep different residuals and capture different outer tensors.
TensorFunction three(const Tensor& index, const Tensor& outer) {
  return [=](const Values& v) {
    return switch_case(index,
                       {[](const Values& x) { return Values{x[0] * x[1]}; },
                        [=](const Values& x) { return Values{sin(x[0]) * exp(x[1]) * outer}; },
                        [](const Values& x) { return Values{tanh(x[1])}; }},
                       v);
  };
}

Values by_index(const Values& v) { return three(v[0], v[3])({v[1], v[2]}); }

const HostTensor kX = normal_values({3}, 1), kY = normal_values({3}, 2),
                 kOuter = normal_values({3}, 3);

HostTensor index(int32_t i) { return HostTensor::scalar(i); }

TEST(Cond, ComputesTheBranchOfTheIndex) {
  const auto at = [](int32_t i) { return eval(by_index, {index(i), kX, kY, kOuter})[0]; };
  const auto direct = [](const TensorFunction& fn) { return eval(fn, {kX, kY, kOuter})[0]; };
  EXPECT_EQ(at(0), direct([](const Values& v) { return Values{v[0] * v[1]}; }));
  EXPECT_EQ(at(1), direct([](const Values& v) { return Values{sin(v[0]) * exp(v[1]) * v[2]}; }));
  EXPECT_EQ(at(2), direct([](const Values& v) { return Values{tanh(v[1])}; }));
  EXPECT_EQ(at(-7), at(0));
  EXPECT_EQ(at(9), at(2));
}

TEST(Cond, PredicateChoosesTheFirstFunction) {
  const auto fn = [](const Values& v) {
    return cond(
        v[0], [](const Values& x) { return Values{x[0] + 1}; },
        [](const Values& x) { return Values{x[0] - 1}; }, {v[1]});
  };
  EXPECT_EQ(eval(fn, {HostTensor::scalar(true), HostTensor({1}, {5.f})})[0],
            HostTensor({1}, {6.f}));
  EXPECT_EQ(eval(fn, {HostTensor::scalar(false), HostTensor({1}, {5.f})})[0],
            HostTensor({1}, {4.f}));
}

TEST(Cond, GradientsOfEachBranchAgreeWithFiniteDifferences) {
  for (int32_t i = 0; i < 3; ++i) {
    SCOPED_TRACE(i);
    check_gradients(by_index, {index(i), kX, kY, kOuter});
  }
}

TEST(Cond, ResidualsOfOneTypeShareASlot) {
  const auto region = trace(
      [](const Values& v) {
        return vjp([&](const Values& x) { return three(v[0], v[3])(x); }, {v[1], v[2]}).outputs;
      },
      {{DType::kI32, {}}, {DType::kF32, {3}}, {DType::kF32, {3}}, {DType::kF32, {3}}});
  size_t num_results = 0;
  for (const OpNode* op : region->ops()) {
    if (op->rules->name() == "cond") num_results = op->outputs.size();
  }
  // The result, and the residuals of the branch that keeps most: sin(x), exp(y).
  EXPECT_EQ(num_results, 3);
}

TEST(Cond, WorksInScanAndRemat) {
  const TensorFunction fn = [](const Values& v) {
    const auto step = [&](const Values& carry, const Values& i) {
      const Values next = remat(
          [&](const Values& c) {
            return three(i[0], v[1])({c[0], c[0]});
          },
          carry, save_nothing(), false);
      return ScanResult{next, {}};
    };
    return scan(step, {v[0]}, {v[2]}, 4).carry;
  };
  check_gradients(fn, {kX, kOuter, HostTensor({4}, {1, 0, 2, 1})});
}

HostTensor by_example(const HostTensor& i, const HostTensor& x, bool is_index_batched) {
  VmapOptions options{.in_axes = {std::nullopt, 0, std::nullopt, std::nullopt}};
  if (is_index_batched) options.in_axes[0] = 0;
  return eval([&](const Values& v) { return vmap(by_index, v, options); }, {i, x, kY, kOuter})[0];
}

TEST(Cond, UnderVmapEachExampleTakesItsBranch) {
  const HostTensor x = normal_values({3, 3}, 5);
  const HostTensor mixed = by_example(HostTensor({3}, {2, 0, 1}), x, true);
  for (int32_t b = 0; b < 3; ++b) {
    const int32_t branches[] = {2, 0, 1};
    const HostTensor whole = by_example(index(branches[b]), x, false);
    for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(mixed.at(3 * b + i), whole.at(3 * b + i));
  }
}

// At 0, the branch that an example does not take has an infinite derivative.
TEST(Cond, ABranchThatIsNotTakenHasNoGradientUnderVmap) {
  using Function = Tensor (*)(const Tensor&);
  for (const Function fn : {Function(sqrt), Function(log)}) {
    const auto example = [&](const Values& v) {
      return cond(
          v[0] > 0, [&](const Values& x) { return Values{fn(x[0] + x[1]) * x[0]}; },
          [](const Values& x) { return Values{x[0] * 3}; }, v);
    };
    const auto total = [&](const Values& v) {
      return Values{sum(vmap(example, v, {.in_axes = {0, std::nullopt}})[0])};
    };
    // The gradients of single examples; all of them share v[1].
    const auto gradients = [](const TensorFunction& f) -> TensorFunction {
      return [f](const Values& v) { return value_and_grad(f, v).second; };
    };
    const auto squares = [&](const Values& v) {
      const Values g = gradients(total)(v);
      return Values{sum(g[0] * g[0]) + g[1] * g[1]};
    };
    const std::vector<HostTensor> x = {HostTensor({3}, {0.f, 4.f, -1.f}), HostTensor::scalar(0.f)};
    const auto actual = eval(gradients(total), x);
    EXPECT_EQ(actual[0].at(0), 3);
    EXPECT_EQ(actual[0].at(2), 3);
    const auto alone = eval(gradients([&](const Values& v) { return example(v); }),
                            {HostTensor::scalar(4.f), HostTensor::scalar(0.f)});
    EXPECT_EQ(actual[0].at(1), alone[0].at(0));
    EXPECT_EQ(actual[1].at(0), alone[1].at(0));
    for (const HostTensor& second : eval(gradients(squares), x)) {
      for (int64_t i = 0; i < second.type().num_elements(); ++i)
        EXPECT_TRUE(std::isfinite(second.at(i))) << second.text();
    }
  }
}

// The nearest branch is the only one, whatever the index of an example is.
TEST(Cond, UnderVmapTheOnlyBranchKeepsItsGradient) {
  const auto fn = [](const Values& v) {
    return switch_case(v[0], {[](const Values& x) { return Values{sin(x[0])}; }}, {v[1]});
  };
  const auto gradient = [&](const Values& v) {
    const auto loss = [&](const Values& x) { return Values{sum(vmap(fn, {v[0], x[0]})[0])}; };
    return value_and_grad(loss, {v[1]}).second;
  };
  const HostTensor x({4}, {0.5f, -1.f, 2.f, 3.f});
  EXPECT_EQ(eval(gradient, {HostTensor({4}, {-1, 0, 1, 7}), x})[0],
            eval([](const Values& v) { return Values{cos(v[0])}; }, {x})[0]);
}

TEST(Cond, SaysWhatDoesNotFit) {
  const auto error = [](const TensorFunction& fn) {
    return error_without_lines<ShapeError>([&] { trace(fn, {{DType::kF32, {2}}}); });
  };
  EXPECT_EQ(
      error([](const Values& v) {
        return switch_case(
            scalar(0, DType::kI32),
            {[](const Values& x) { return x; }, [](const Values& x) { return Values{sum(x[0])}; }},
            v);
      }),
      "the top level: cond: expected branches whose results have the same types, got a branch "
      "1 that differs from branch 0; '0': f32[2] is f32[] of the top level (reduce_sum)");
  EXPECT_EQ(error([](const Values& v) {
              return switch_case(v[0], {[](const Values& x) { return x; }}, v);
            }),
            "the top level: cond: expected an i32 scalar as index, got f32[2]; operands: f32[2] of "
            "the top level (parameter), f32[2] of the top level (parameter)");
  const auto same = [](const Values& x) { return x; };
  EXPECT_EQ(error([&](const Values& v) { return cond(v[0], same, same, v); }),
            "the top level: cond: expected a pred scalar as condition; operands: f32[2] of the top "
            "level (parameter)");
}

}  // namespace
}  // namespace axle
