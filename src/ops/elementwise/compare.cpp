#include <fmt/format.h>

#include <algorithm>
#include <compare>

#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reductions/reductions.h"
#include "ops/rules.h"

namespace axle {
namespace {

using detail::Ordered;

// The names of the comparison ops are StableHLO's comparison directions in lower case.
HloValues lower_compare(const OpNode& op, HloBuilder& b, const HloValues& x) {
  std::string direction(op.rules->name());
  for (char& c : direction) c = static_cast<char>(std::toupper(c));
  return {hlo_compare(b, direction, x[0], x[1])};
}

const OpRules eq_rules({.name = "eq",
                        .infer = pred_of_same_shape,
                        .batch = elementwise,
                        .vjp = no_gradient,
                        .range = range_of_equal,
                        .eval = binary([](auto a, auto b) { return a == b; }),
                        .hlo = lower_compare,
                        .cost = kElementwise});
const OpRules ne_rules({.name = "ne",
                        .infer = pred_of_same_shape,
                        .batch = elementwise,
                        .vjp = no_gradient,
                        .range = range_of_unequal,
                        .eval = binary([](auto a, auto b) { return a != b; }),
                        .hlo = lower_compare,
                        .cost = kElementwise});
const OpRules lt_rules({.name = "lt",
                        .infer = pred_of_ordered,
                        .batch = elementwise,
                        .vjp = no_gradient,
                        .range = range_at_bounds,
                        .eval = binary([]<Ordered T>(T a, T b) { return a < b; }),
                        .hlo = lower_compare,
                        .cost = kElementwise});
const OpRules le_rules({.name = "le",
                        .infer = pred_of_ordered,
                        .batch = elementwise,
                        .vjp = no_gradient,
                        .range = range_at_bounds,
                        .eval = binary([]<Ordered T>(T a, T b) { return a <= b; }),
                        .hlo = lower_compare,
                        .cost = kElementwise});
const OpRules gt_rules({.name = "gt",
                        .infer = pred_of_ordered,
                        .batch = elementwise,
                        .vjp = no_gradient,
                        .range = range_at_bounds,
                        .eval = binary([]<Ordered T>(T a, T b) { return a > b; }),
                        .hlo = lower_compare,
                        .cost = kElementwise});
const OpRules ge_rules({.name = "ge",
                        .infer = pred_of_ordered,
                        .batch = elementwise,
                        .vjp = no_gradient,
                        .range = range_at_bounds,
                        .eval = binary([]<Ordered T>(T a, T b) { return a >= b; }),
                        .hlo = lower_compare,
                        .cost = kElementwise});

std::vector<Type> infer_select(const OpNode& op) {
  const Type& p = op.inputs[0].type();
  const Type& a = op.inputs[1].type();
  if (p.dtype != DType::kPred)
    shape_error(op, fmt::format("expected a predicate first, got {}", to_text(p)));
  if (op.inputs[2].type() != a) {
    shape_error(op, fmt::format("the choices must have one type, got {} and {}", to_text(a),
                                to_text(op.inputs[2].type())));
  }
  if (p.rank() != 0 && p.dims != a.dims) {
    shape_error(op, fmt::format("expected a predicate of shape {} or a scalar, got {}",
                                to_text(a.dims), to_text(p.dims)));
  }
  return {a};
}

void eval_select(const EvalOptions&, const OpNode&, std::span<const HostTensor* const> x,
                 std::span<HostTensor> y) {
  const auto p = x[0]->values<bool>();
  const bool one = x[0]->shape().empty();
  dispatch_size(y[0].dtype(), [&]<class T>(std::type_identity<T>) {
    const auto a = x[1]->elements<T>(), b = x[2]->elements<T>();
    const auto out = y[0].elements<T>();
    for (size_t i = 0; i < out.size(); ++i) out[i] = p[one ? 0 : i] ? a[i] : b[i];
  });
}

const OpRules select_rules(
    {.name = "select",
     .infer = infer_select,
     .batch = elementwise,
     .vjp =
         [](X x, Y, Ct g) {
           const Tensor zero = zeros_like(g[0]);
           return Values{{}, select(x[0], g[0], zero), select(x[0], zero, g[0])};
         },
     .range = range_of_choice,
     .eval = eval_select,
     .hlo = "stablehlo.select",
     .cost = kElementwise});

void eval_clamp(const EvalOptions&, const OpNode&, std::span<const HostTensor* const> x,
                std::span<HostTensor> y) {
  dispatch(y[0].dtype(), [&]<class T>(std::type_identity<T>) {
    using C = Computed<T>;
    const auto low = x[0]->values<T>(), v = x[1]->values<T>(), high = x[2]->values<T>();
    const auto out = y[0].values<T>();
    for (size_t i = 0; i < out.size(); ++i) {
      const C lo(low[i]), middle(v[i]), hi(high[i]);
      out[i] = T(lo != lo           ? lo
                 : middle != middle ? middle
                 : hi != hi         ? hi
                                    : detail::smaller(detail::larger(lo, middle), hi));
    }
  });
}

const OpRules clamp_rules({.name = "clamp",
                           .infer = same_ordered_type,
                           .batch = elementwise,
                           .vjp =
                               [](X x, Y, Ct g) {
                                 const Tensor &low = x[0], &v = x[1], &high = x[2],
                                              zero = zeros_like(g[0]);
                                 return Values{select((low > v) & (low < high), g[0], zero),
                                               select((low < v) & (v < high), g[0], zero),
                                               select(high < v, g[0], zero)};
                               },
                           .eval = eval_clamp,
                           .hlo = "stablehlo.clamp",
                           .cost = kElementwise});

// Selects among cases[first] to cases[last - 1] by halves.
Tensor select_among(const Tensor& which, const Values& cases, size_t first, size_t last) {
  if (last - first == 1) return cases[first];
  const size_t middle = first + (last - first) / 2;
  return select(which < static_cast<int64_t>(middle), select_among(which, cases, first, middle),
                select_among(which, cases, middle, last));
}

}  // namespace

Tensor equal(const Tensor& a, const Tensor& b) { return emit_broadcast(eq_rules, a, b); }
Tensor not_equal(const Tensor& a, const Tensor& b) { return emit_broadcast(ne_rules, a, b); }
Tensor less(const Tensor& a, const Tensor& b) { return emit_broadcast(lt_rules, a, b); }
Tensor less_equal(const Tensor& a, const Tensor& b) { return emit_broadcast(le_rules, a, b); }
Tensor greater(const Tensor& a, const Tensor& b) { return emit_broadcast(gt_rules, a, b); }
Tensor greater_equal(const Tensor& a, const Tensor& b) { return emit_broadcast(ge_rules, a, b); }
Tensor equal(const Tensor& a, Scalar b) { return emit_with_number(eq_rules, a, b); }
Tensor not_equal(const Tensor& a, Scalar b) { return emit_with_number(ne_rules, a, b); }
Tensor operator<(const Tensor& a, const Tensor& b) { return less(a, b); }
Tensor operator<=(const Tensor& a, const Tensor& b) { return less_equal(a, b); }
Tensor operator>(const Tensor& a, const Tensor& b) { return greater(a, b); }
Tensor operator>=(const Tensor& a, const Tensor& b) { return greater_equal(a, b); }
Tensor operator<(const Tensor& a, Scalar b) { return emit_with_number(lt_rules, a, b); }
Tensor operator<=(const Tensor& a, Scalar b) { return emit_with_number(le_rules, a, b); }
Tensor operator>(const Tensor& a, Scalar b) { return emit_with_number(gt_rules, a, b); }
Tensor operator>=(const Tensor& a, Scalar b) { return emit_with_number(ge_rules, a, b); }

Tensor select(const Tensor& p, const Tensor& a, const Tensor& b) {
  auto [yes, no] = broadcast_together(a, b, "select");
  if (p.rank() == 0) return emit(select_rules, {p, yes, no});
  const Tensor mask = broadcast_together(p, yes, "select").first;
  return emit(select_rules,
              {mask, broadcast_to(yes, mask.shape()), broadcast_to(no, mask.shape())});
}
Tensor select(const Tensor& p, const Tensor& a, Scalar b) {
  return select(p, a, full_for("select", a, a.shape(), b));
}
Tensor select(const Tensor& p, Scalar a, const Tensor& b) {
  return select(p, full_for("select", b, b.shape(), a), b);
}

Tensor select_n(const Tensor& which, const Values& cases) {
  const bool is_pred = which.dtype() == DType::kPred;
  if (cases.empty() || (is_pred && cases.size() != 2) || (!is_pred && !is_integer(which.dtype()))) {
    shape_error("select_n",
                fmt::format("expected a predicate and 2 cases, or integers and 1 case or more, "
                            "got {} and {} cases",
                            name_of(which.dtype()), cases.size()),
                {which});
  }
  const auto differs = [&](const Tensor& x) { return x.type() != cases[0].type(); };
  const bool fits = which.rank() == 0 || which.shape() == cases[0].shape();
  if (!fits || std::ranges::any_of(cases, differs)) {
    Values operands{which};
    operands.insert(operands.end(), cases.begin(), cases.end());
    shape_error("select_n",
                fmt::format("expected cases of one type and a choice of their shape or a scalar, "
                            "got {} for {}",
                            to_text(which.type()), to_text(types_of(cases))),
                operands);
  }
  return is_pred ? select(which, cases[1], cases[0]) : select_among(which, cases, 0, cases.size());
}

Tensor clamp(const Tensor& low, const Tensor& x, const Tensor& high) {
  return emit(clamp_rules, {broadcast_to(low, x.shape()), x, broadcast_to(high, x.shape())});
}
Tensor clamp(Scalar low, const Tensor& x, Scalar high) {
  const auto bound = [&](Scalar number) { return full_for("clamp", x, x.shape(), number); };
  return emit(clamp_rules, {bound(low), x, bound(high)});
}

Tensor is_nan(const Tensor& x) { return not_equal(x, x); }
Tensor is_inf(const Tensor& x) {
  if (is_complex(x.dtype())) return is_inf(real(x)) | is_inf(imag(x));
  if (!is_float(x.dtype())) return full(x.shape(), false, DType::kPred);
  return equal(abs(x), std::numeric_limits<double>::infinity());
}
Tensor fraction_of(const Tensor& p) { return mean(astype(p, DType::kF32)); }

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
