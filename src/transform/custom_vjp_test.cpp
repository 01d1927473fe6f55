#include <gmock/gmock.h>

#include "ir/text/text_form.h"
#include "ops/annotate.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "testing/error_without_lines.h"
#include "testing/gradient_check.h"
#include "transform/control_flow/control_flow.h"
#include "transform/grad.h"
#include "transform/partition.h"
#include "transform/remat/remat.h"
#include "transform/vmap.h"

namespace axle {
namespace {

using testing::check_gradients;
using ::testing::HasSubstr;
using testing::random_tensor;

// tanh, with a gradient computed from its result: g * (1 - y^2).
CustomVjp tanh_of_result() {
  return {.name = "tanh_of_result",
          .forward =
              [](const Values& x) {
                const Tensor y = name(tanh(x[0]), "tanh_result");
                return WithResiduals{{y}, {y}};
              },
          .backward = [](const Values& y,
                         const Values& g) { return Values{g[0] * (1.0 - y[0] * y[0])}; }};
}

TensorFunction summed(const CustomVjp& rule) {
  return [rule](const Values& x) { return Values{sum(custom_vjp(rule, x)[0])}; };
}

TensorFunction gradient_of(const TensorFunction& fn) {
  return [fn](const Values& x) { return value_and_grad(fn, x).second; };
}

TEST(CustomVjp, GradientIsTheRulesOwn) {
  CustomVjp rule = tanh_of_result();
  check_gradients(summed(rule), {random_tensor({DType::kF64, {3}}, 1)});
  // This is not the derivative of tanh, so only the rule can have computed it.
  rule.backward = [](const Values&, const Values& g) { return Values{g[0] * 7.0}; };
  EXPECT_EQ(eval(gradient_of(summed(rule)), {HostTensor({2}, {1.0f, 2.0f})}).at(0),
            HostTensor({2}, {7.0f, 7.0f}));
}

TEST(CustomVjp, DifferentiatesTwice) {
  const TensorFunction slope = [](const Values& x) {
    return Values{sum(gradient_of(summed(tanh_of_result()))(x)[0])};
  };
  check_gradients(slope, {random_tensor({DType::kF64, {3}}, 2)});
}

TEST(CustomVjp, ResidualsAreComputedForDifferentiationAlone) {
  CustomVjp rule = tanh_of_result();
  rule.forward = [](const Values& x) { return WithResiduals{{tanh(x[0])}, {exp(x[0])}}; };
  rule.backward = [](const Values& e, const Values& g) { return Values{g[0] * e[0]}; };
  const std::vector<Type> types{{DType::kF32, {2}}};
  const auto plain = trace(summed(rule), types);
  const OpNode& op = *plain->ops().front();
  ASSERT_EQ(op.rules->name(), "custom_vjp");
  EXPECT_EQ(count_ops(op.region(), "exp"), 0);
  const auto differentiated = trace(gradient_of(summed(rule)), types);
  EXPECT_EQ(count_ops(*differentiated, "custom_vjp"), 0);
  EXPECT_EQ(count_ops(*differentiated, "exp"), 1);
  EXPECT_EQ(count_ops(*differentiated, "tanh"), 0) << "nobody asks for the value";
}

TEST(CustomVjp, RematPoliciesSeeTheNamesWithin) {
  for (const auto& [policy, backward_tanh] :
       {std::pair(save_names({"tanh_result"}), 0), std::pair(save_nothing(), 1)}) {
    const TensorFunction fn = [&](const Values& x) {
      const auto layer = [](const Values& h) { return custom_vjp(tanh_of_result(), {h[0]}); };
      const auto step = [&](const Values& carry, const Values&) {
        return ScanResult{remat(layer, carry, policy, false), {}};
      };
      return Values{sum(scan(step, {x[0]}, {}, 3).carry[0])};
    };
    const auto region = trace(gradient_of(fn), {{DType::kF32, {2}}});
    std::vector<int64_t> tanhs;
    for (const OpNode* op : region->ops()) {
      if (op->rules->name() == "scan") tanhs.push_back(count_ops(op->region(), "tanh"));
    }
    EXPECT_EQ(tanhs, (std::vector<int64_t>{1, backward_tanh})) << policy.text;
    check_gradients(fn, {random_tensor({DType::kF64, {2}}, 3)});
  }
}

TEST(CustomVjp, IntegerArgumentsAndCapturedConstants) {
  const TensorFunction fn = [](const Values& x) {
    const Tensor twice = stop_gradient(x[0] * 2.0);
    const CustomVjp rule{
        .name = "pick",
        .forward =
            [&](const Values& a) {
              return WithResiduals{{take(a[0], a[1]) * take(twice, a[1])}, {a[0], a[1], twice}};
            },
        .backward =
            [](const Values& r, const Values& g) {
              const auto picked = [&](const Values& a) { return Values{take(a[0], r[1])}; };
              return Values{vjp(picked, {r[0]}).pullback({g[0] * take(r[2], r[1])})[0], Tensor()};
            }};
    return Values{sum(custom_vjp(rule, x)[0])};
  };
  const auto gradient = eval([&](const Values& x) { return Values{gradient_of(fn)(x)[0]}; },
                             {HostTensor({3}, {1.0f, 2.0f, 3.0f}), HostTensor({2}, {2, 2})});
  EXPECT_EQ(gradient.at(0), HostTensor({3}, {0.0f, 0.0f, 12.0f}));
}

TEST(CustomVjp, ErrorsNameTheFunctionAndTheArgument) {
  const auto error_with = [](decltype(CustomVjp::backward) backward) {
    CustomVjp rule = tanh_of_result();
    rule.backward = std::move(backward);
    return error_without_lines<ShapeError>([&] {
      trace(gradient_of(summed(rule)), {{DType::kF32, {2, 3}}});
    });
  };
  EXPECT_THAT(error_with([](const Values&, const Values&) { return Values{}; }),
              HasSubstr("expected a cotangent for each of the 1 arguments of tanh_of_result ("));
  EXPECT_THAT(error_with([](const Values&, const Values& g) { return Values{sum(g[0])}; }),
              HasSubstr("expected a cotangent of f32[2, 3] for argument 0 of tanh_of_result ("));
  // The rule of a batch is checked in the same way.
  for (const size_t count : {0, 2, 40}) {
    CustomVjp rule = tanh_of_result();
    rule.backward = [=](const Values&, const Values& g) { return Values(count, g[0]); };
    const TensorFunction batched = [&](const Values& x) {
      return Values{sum(vmap([&](const Values& row) { return custom_vjp(rule, {row[0]}); }, x)[0])};
    };
    EXPECT_THAT(error_without_lines<ShapeError>([&] {
                  trace(gradient_of(batched), {{DType::kF32, {2, 3}}});
                }),
                HasSubstr("expected a cotangent for each of the 1 arguments of tanh_of_result ("));
  }
  const TensorFunction captures = [](const Values& x) {
    const CustomVjp rule{.name = "scaled",
                         .forward =
                             [&](const Values& a) {
                               return WithResiduals{{a[0] * x[1]}, {}};
                             },
                         .backward = [](const Values&, const Values& g) { return g; }};
    return Values{sum(custom_vjp(rule, {x[0]})[0])};
  };
  EXPECT_THAT(error_without_lines<ShapeError>([&] {
                trace(gradient_of(captures), {{DType::kF32, {2}}, {DType::kF32, {2}}});
              }),
              HasSubstr("arguments of scaled ("));
}

}  // namespace
}  // namespace axle
