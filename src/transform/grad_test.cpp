#include "transform/grad.h"

#include <gmock/gmock.h>

#include "ops/annotate.h"
#include "ops/elementwise/elementwise.h"
#include "ops/products/products.h"
#include "ops/reductions/reductions.h"
#include "testing/error_without_lines.h"
#include "testing/gradient_check.h"
#include "transform/call.h"
#include "transform/remat/remat.h"

namespace axle {
namespace {

using testing::check_gradients;
using ::testing::HasSubstr;
using testing::random_tensor;

std::vector<HostTensor> two_matrices() {
  return {random_tensor({DType::kF64, {3, 3}}, 1), random_tensor({DType::kF64, {3, 3}}, 2)};
}

TEST(Grad, SharedOperandsAddUp) {
  const auto y = eval(
      [](const Values& x) {
        auto [out, grads] =
            value_and_grad([](const Values& a) { return Values{a[0] * a[0] + a[0]}; }, x);
        return Values{out[0], grads[0]};
      },
      {HostTensor::scalar(3.0f)});
  EXPECT_EQ(y[0], HostTensor::scalar(12.0f));
  EXPECT_EQ(y[1], HostTensor::scalar(7.0f));
}

TEST(Grad, StopGradientAndUnusedArgumentsGiveZero) {
  const auto y = eval(
      [](const Values& x) {
        return value_and_grad([](const Values& a) { return Values{stop_gradient(a[0]) * a[1]}; }, x)
            .second;
      },
      {HostTensor::scalar(3.0f), HostTensor::scalar(5.0f), HostTensor::scalar(7.0f)});
  EXPECT_EQ(y[0], HostTensor::scalar(0.0f));
  EXPECT_EQ(y[1], HostTensor::scalar(3.0f));
  EXPECT_EQ(y[2], HostTensor::scalar(0.0f));
}

TEST(Grad, OuterTensorsAreConstants) {
  const auto y = eval(
      [](const Values& x) {
        const Tensor outer = x[1] * 2.0;
        return value_and_grad([&](const Values& a) { return Values{a[0] * outer}; }, {x[0]}).second;
      },
      {HostTensor::scalar(3.0f), HostTensor::scalar(5.0f)});
  EXPECT_EQ(y[0], HostTensor::scalar(10.0f));
}

TEST(Jvp, IsTheDerivativeInADirection) {
  const auto y = eval(
      [](const Values& x) {
        const auto fn = [](const Values& a) { return Values{a[0] * a[0] * a[1], a[1], a[2]}; };
        auto [out, derivatives] = jvp(fn, x, {scalar(1), scalar(10), {}});
        EXPECT_FALSE(derivatives[2]);  // of an integer
        return Values{out[0], derivatives[0], derivatives[1]};
      },
      {HostTensor::scalar(3.f), HostTensor::scalar(5.f), HostTensor::scalar(int32_t{7})});
  EXPECT_EQ(y[0].at(0), 45);
  EXPECT_EQ(y[1].at(0), 2 * 3 * 5 + 9 * 10);
  EXPECT_EQ(y[2].at(0), 10);
}

TEST(Jvp, ATangentThatIsNoneIsThatOfAConstant) {
  const auto y = eval(
      [](const Values& x) {
        const auto fn = [](const Values& a) { return Values{a[0] * a[1], a[1] * 2}; };
        return jvp(fn, x, {scalar(1), {}}).second;
      },
      {HostTensor::scalar(3.f), HostTensor::scalar(5.f)});
  EXPECT_EQ(y[0].at(0), 5);
  EXPECT_EQ(y[1].at(0), 0);
}

TEST(Jvp, TangentsHaveTheTypesOfTheArguments) {
  EXPECT_EQ(error_without_lines<ShapeError>([] {
              trace(
                  [](const Values& x) {
                    return jvp([](const Values& a) { return a; }, x, {scalar(1)}).second;
                  },
                  {{DType::kF32, {2}}});
            }),
            "the top level: jvp: expected a tangent of f32[2] for argument 0, got f32[] of the top "
            "level (full)");
}

TEST(Grad, LossMustBeAScalar) {
  EXPECT_THROW(trace(
                   [](const Values& x) {
                     return value_and_grad([](const Values& a) { return a; }, x).first;
                   },
                   {{DType::kF32, {2}}}),
               ShapeError);
}

TEST(Grad, ThroughCallsAndRemat) {
  const TensorFunction body = [](const Values& a) {
    return Values{tanh(dot(a[0], a[1])) * exp(a[0])};
  };
  check_gradients([&](const Values& x) { return Values{sum(call("body", body, x)[0])}; },
                  two_matrices());
  check_gradients([&](const Values& x) { return Values{sum(remat(body, x, save_nothing())[0])}; },
                  two_matrices());
}

// A compiler that computed x * x again for the comparison could round it otherwise.
TEST(Grad, TheLargestElementComparesOneSetOfValues) {
  for (const auto choose : {reduce_max, reduce_min}) {
    const auto region = trace(
        [&](const Values& x) {
          const auto square = [&](const Values& a) {
            return Values{choose(a[0] * a[0], {0}, false)};
          };
          return value_and_grad(square, x).second;
        },
        {{DType::kF32, {4}}});
    const auto named = [](const Tensor& t) { return t.node()->rules->name(); };
    int num_comparisons = 0;
    for (const OpNode* op : region->ops()) {
      if (op->rules->name() != "eq") continue;
      ++num_comparisons;
      const Tensor values = op->inputs[0];
      EXPECT_EQ(named(values), "optimization_barrier");
      Tensor chosen = op->inputs[1];
      while (!named(chosen).starts_with("reduce_")) chosen = chosen.node()->inputs[0];
      EXPECT_TRUE(same(chosen.node()->inputs[0], values));
    }
    EXPECT_EQ(num_comparisons, 1);
  }
}

TEST(Remat, NamesThatNoValueCarriesAreErrors) {
  const auto error_with = [](const RematPolicy& policy) {
    return error_of([&] {
      const auto body = [](const Values& a) { return Values{sin(name(sin(a[0]), "q_proj"))}; };
      trace([&](const Values& x) { return remat(body, x, policy); }, {{DType::kF32, {4}}});
    });
  };
  EXPECT_EQ(error_with(save_names({"q_proj"}, {"*_proj"})), "no error");
  EXPECT_THAT(error_with(save_names({"q_prj"})), HasSubstr("expects a value named 'q_prj', got "
                                                           "q_proj; did you mean 'q_proj'?"));
  EXPECT_THAT(error_with(save_names({"q_proj"}, {"hidden"})), HasSubstr("named 'hidden'"));
}

TEST(Remat, BarrierOnlyWhereAsked) {
  const TensorFunction body = [](const Values& a) { return Values{sin(sin(a[0]))}; };
  for (const bool barrier : {true, false}) {
    const auto region = trace(
        [&](const Values& x) {
          return value_and_grad(
                     [&](const Values& a) {
                       return Values{sum(remat(body, a, save_nothing(), barrier)[0])};
                     },
                     x)
              .second;
        },
        {{DType::kF32, {4}}});
    int64_t barriers = 0, sines = 0;
    for (const OpNode* op : region->ops()) {
      barriers += op->rules->name() == "optimization_barrier";
      sines += op->rules->name() == "sin";
    }
    EXPECT_EQ(barriers, barrier ? 1 : 0);
    EXPECT_EQ(sines, 1) << "the value is not asked for, so only the inner sine is computed again";
  }
}

TEST(Grad, MixedPrecisionKeepsDtypes) {
  const auto region = trace(
      [](const Values& x) {
        return value_and_grad([](const Values& a) { return Values{sum(dot(a[0], a[1]))}; }, x)
            .second;
      },
      {{DType::kF32, {2, 3}}, {DType::kF32, {3, 4}}});
  EXPECT_EQ(region->results()[0].type(), (Type{DType::kF32, {2, 3}}));
  EXPECT_EQ(region->results()[1].type(), (Type{DType::kF32, {3, 4}}));
}

}  // namespace
}  // namespace axle
