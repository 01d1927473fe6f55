#include "transform/control_flow/while_loop.h"

#include <fmt/format.h>

#include "base/lists.h"
#include "ir/op_rules.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "transform/control_flow/cond.h"
#include "transform/control_flow/scan.h"
#include "transform/control_flow/type_checks.h"
#include "transform/control_flow/while_op.h"
#include "transform/trace.h"

namespace axle {
Values while_loop(const WhileCondition& condition, const WhileBody& body, const Values& init) {
  const ClosedRegion goes_on = trace_closed(
      [&](const Values& carry) {
        const Tensor p = condition(carry);
        check_condition("while", {p});
        return Values{p};
      },
      types_of(init));
  const ClosedRegion step = trace_closed(
      [&](const Values& carry) {
        Values next = body(carry);
        check_carry("while", {}, init, next);
        return next;
      },
      types_of(init));
  return emit_while(goes_on.region, step.region,
                    concatenate<Tensor>({goes_on.captures, step.captures, init}),
                    WhileAttributes(goes_on.captures.size(), step.captures.size()));
}

Values bounded_while(const WhileCondition& condition, const WhileBody& body, const Values& init,
                     int64_t max_steps) {
  check_at_least("bounded_while", "max_steps", max_steps, 0, init);
  const auto step = [&](const Values& carry, const Values&) {
    const Tensor goes_on = condition(carry);
    check_condition("bounded_while", {goes_on});
    const auto next = [&](const Values& v) {
      Values out = body(v);
      check_carry("bounded_while", {}, init, out);
      return out;
    };
    return ScanResult{cond(
                          goes_on, next, [](const Values& v) { return v; }, carry),
                      {}};
  };
  return scan(step, init, {}, max_steps).carry;
}

Values fori_loop(int64_t begin, int64_t end,
                 const std::function<Values(const Tensor& i, const Values& carry)>& body,
                 const Values& init) {
  for (const int64_t bound : {begin, end}) {
    if (Scalar(bound).fits(DType::kI32)) continue;
    shape_error("fori_loop",
                fmt::format("expected bounds in the range of i32, got {} and {}", begin, end),
                init);
  }
  const int64_t count = std::max<int64_t>(end - begin, 0);
  const Tensor indices = iota({count}, 0) + begin;
  const auto step = [&](const Values& carry, const Values& i) {
    return ScanResult{body(i[0], carry), {}};
  };
  return scan(step, init, {indices}, count).carry;
}

Values fori_loop(const Tensor& begin, const Tensor& end,
                 const std::function<Values(const Tensor& i, const Values& carry)>& body,
                 const Values& init) {
  const auto goes_on = [&](const Values& state) { return state[0] < end; };
  const auto step = [&](const Values& state) {
    const Values next = body(state[0], concatenate<Tensor>({std::span(state).subspan(1)}));
    return concatenate<Tensor>({Values{state[0] + 1}, next});
  };
  const Values last = while_loop(goes_on, step, concatenate<Tensor>({Values{begin}, init}));
  return concatenate<Tensor>({std::span(last).subspan(1)});
}

}  // namespace axle
