#include "transform/control_flow/while_loop.h"

#include <gmock/gmock.h>

#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"
#include "ops/elementwise/trigonometry.h"
#include "ops/reductions/reduce.h"
#include "testing/error_without_lines.h"
#include "testing/gradient_check.h"
#include "testing/host_tensors.h"
#include "transform/grad.h"
#include "transform/vmap.h"

namespace axle {
namespace {

// Doubles x until it is larger than the limit; counts the iterations.
Values doubled(const Values& v) {
  const Tensor limit = v[1];
  return while_loop([&](const Values& c) { return c[0] <= limit; },
                    [](const Values& c) {
                      return Values{c[0] * 2, c[1] + 1};
                    },
                    {v[0], scalar(0, DType::kI32)});
}

TEST(WhileLoop, RunsWhileTheConditionHolds) {
  const auto y = eval(doubled, {HostTensor::scalar(3.f), HostTensor::scalar(20.f)});
  EXPECT_EQ(y[0].at(0), 24);
  EXPECT_EQ(y[1].at(0), 3);
  EXPECT_EQ(eval(doubled, {HostTensor::scalar(3.f), HostTensor::scalar(1.f)})[1].at(0), 0);
}

TEST(WhileLoop, UnderVmapEachExampleStopsByItself) {
  const auto y = eval([](const Values& v) { return vmap(doubled, v); },
                      {HostTensor({3}, {3.f, 30.f, 1.f}), HostTensor({3}, {20.f, 20.f, 20.f})});
  EXPECT_EQ(y[0], HostTensor({3}, {24.f, 30.f, 32.f}));
  EXPECT_EQ(y[1], HostTensor({3}, {3, 0, 5}));
}

// The condition is the same for all examples, the carry is not.
TEST(WhileLoop, UnderVmapALoopOfOneLengthIsNotSelected) {
  const auto fn = [](const Values& v) {
    return vmap(
        [](const Values& x) {
          const auto goes_on = [](const Values& c) { return c[0] < 3; };
          const auto step = [&](const Values& c) { return Values{c[0] + 1, c[1] * x[0]}; };
          return Values{while_loop(goes_on, step, {scalar(0, DType::kI32), scalar(1)})[1]};
        },
        v);
  };
  EXPECT_EQ(eval(fn, {HostTensor({2}, {2.f, 3.f})})[0], HostTensor({2}, {8.f, 27.f}));
  const auto region = trace(fn, {{DType::kF32, {2}}});
  for (const OpNode* op : region->ops()) {
    if (op->rules->name() != "while") continue;
    EXPECT_EQ(op->outputs[0].dims, Shape{});
  }
}

TEST(WhileLoop, HasNoReverseModeAndSaysWhatHas) {
  EXPECT_EQ(error_without_lines<ShapeError>([] {
              trace(
                  [](const Values& v) {
                    return vjp(doubled, v).pullback({v[0], Tensor()});
                  },
                  {{DType::kF32, {}}, {DType::kF32, {}}});
            }),
            "the top level: while: expected a loop with a known number of iterations in reverse "
            "mode, got a while loop; use scan, fori_loop with bounds that are numbers, or "
            "bounded_while with max_steps; operands: f32[] of the top level (parameter), f32[] of "
            "the top level (parameter), i32[] of the top level "
            "(full)");
}

TEST(WhileLoop, SaysWhatDoesNotFit) {
  const auto error = [](const WhileCondition& condition, const WhileBody& body) {
    return error_without_lines<ShapeError>([&] {
      trace([&](const Values& v) { return while_loop(condition, body, v); }, {{DType::kF32, {}}});
    });
  };
  EXPECT_THAT(error([](const Values& c) { return c[0]; }, [](const Values& c) { return c; }),
              ::testing::StartsWith("the top level: while: expected a pred scalar as condition"));
  EXPECT_THAT(
      error([](const Values& c) { return c[0] < 1; },
            [](const Values& c) { return Values{astype(c[0], DType::kBF16)}; }),
      ::testing::StartsWith("the top level: while: expected a body that keeps the types of its "
                            "carry, got others; '0': f32[] became bf16[] of the top level"));
}

TEST(BoundedWhile, GivesWhatTheLoopGivesAndGradients) {
  const auto bounded = [](const Values& v) {
    const Tensor limit = v[1];
    return bounded_while([&](const Values& c) { return c[0] <= limit; },
                         [](const Values& c) { return Values{c[0] * 2 + sin(c[0])}; }, {v[0]}, 8);
  };
  const auto open = [](const Values& v) {
    const Tensor limit = v[1];
    return while_loop([&](const Values& c) { return c[0] <= limit; },
                      [](const Values& c) { return Values{c[0] * 2 + sin(c[0])}; }, {v[0]});
  };
  const std::vector<HostTensor> x = {HostTensor::scalar(3.f), HostTensor::scalar(20.f)};
  EXPECT_EQ(eval(bounded, x)[0], eval(open, x)[0]);
  testing::check_gradients(bounded, x);
}

// The next step of an example that has stopped at 0 has an infinite derivative.
TEST(BoundedWhile, UnderVmapStepsBeyondTheEndGiveNoGradient) {
  const auto fn = [](const Values& v) {
    const auto example = [](const Values& x) {
      return bounded_while([](const Values& c) { return c[0] > 0.5; },
                           [](const Values& c) { return Values{sqrt(c[0]) - 1}; }, x, 3);
    };
    return value_and_grad([&](const Values& x) { return Values{sum(vmap(example, x)[0])}; }, v)
        .second;
  };
  EXPECT_EQ(eval(fn, {HostTensor({3}, {0.f, 1.f, 4.f})})[0], HostTensor({3}, {1.f, 0.5f, 0.125f}));
}

TEST(BoundedWhile, StopsAtTheBound) {
  const auto fn = [](const Values& v) {
    return bounded_while([](const Values& c) { return c[0] >= 0; },
                         [](const Values& c) { return Values{c[0] + 1}; }, v, 5);
  };
  EXPECT_EQ(eval(fn, {HostTensor::scalar(0.f)})[0].at(0), 5);
}

TEST(ForiLoop, PassesTheIndex) {
  const auto fixed = [](const Values& v) {
    return fori_loop(
        2, 5,
        [](const Tensor& i, const Values& c) { return Values{c[0] * astype(i, c[0].dtype())}; }, v);
  };
  const auto computed = [](const Values& v) {
    return fori_loop(
        scalar(2, DType::kI32), v[1],
        [](const Tensor& i, const Values& c) { return Values{c[0] * astype(i, c[0].dtype())}; },
        {v[0]});
  };
  EXPECT_EQ(eval(fixed, {HostTensor::scalar(1.f)})[0].at(0), 24);
  EXPECT_EQ(eval(computed, {HostTensor::scalar(1.f), HostTensor::scalar(5)})[0].at(0), 24);
  EXPECT_EQ(eval(computed, {HostTensor::scalar(1.f), HostTensor::scalar(1)})[0].at(0), 1);
  testing::check_gradients(fixed, {HostTensor::scalar(1.5f)});
}

}  // namespace
}  // namespace axle
