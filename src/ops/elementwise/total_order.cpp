#include "ops/elementwise/total_order.h"

#include <compare>

#include "ops/batching.h"
#include "ops/movement/broadcast.h"
#include "ops/rules.h"
#include "ops/stablehlo.h"

namespace axle {
namespace {

// Returns the eval rule is_true(a <=> b).
template <class F>
EvalRule ordered(F is_true) {
  return binary([is_true]<detail::Ordered T>(T a, T b) -> bool {
    if constexpr (detail::Float<T>)
      return is_true(std::strong_order(a, b));
    else
      return is_true(a <=> b);
  });
}

const OpRules total_eq_rules(
    {.name = "total_eq",
     .infer = pred_of_ordered,
     .batch = elementwise,
     .vjp = no_gradient,
     .eval = ordered([](std::strong_ordering order) { return order == 0; }),
     .hlo =
         [](const OpNode&, HloBuilder& b, const HloValues& x) {
           return HloValues{hlo_compare(b, "EQ", x[0], x[1], Order::kTotal)};
         },
     .cost = kElementwise});

const OpRules total_lt_rules({.name = "total_lt",
                              .infer = pred_of_ordered,
                              .batch = elementwise,
                              .vjp = no_gradient,
                              .eval = ordered([](std::strong_ordering order) { return order < 0; }),
                              .hlo =
                                  [](const OpNode&, HloBuilder& b, const HloValues& x) {
                                    return HloValues{
                                        hlo_compare(b, "LT", x[0], x[1], Order::kTotal)};
                                  },
                              .cost = kElementwise});

const OpRules total_le_rules(
    {.name = "total_le",
     .infer = pred_of_ordered,
     .batch = elementwise,
     .vjp = no_gradient,
     .eval = ordered([](std::strong_ordering order) { return order <= 0; }),
     .hlo =
         [](const OpNode&, HloBuilder& b, const HloValues& x) {
           return HloValues{hlo_compare(b, "LE", x[0], x[1], Order::kTotal)};
         },
     .cost = kElementwise});

}  // namespace

Tensor total_equal(const Tensor& a, const Tensor& b) {
  return emit_broadcast(total_eq_rules, a, b);
}
Tensor total_less(const Tensor& a, const Tensor& b) { return emit_broadcast(total_lt_rules, a, b); }
Tensor total_less_equal(const Tensor& a, const Tensor& b) {
  return emit_broadcast(total_le_rules, a, b);
}

}  // namespace axle
