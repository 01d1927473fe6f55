// Composite ops: ops that are defined by other ops but have their own derivative, so that fewer
// values are kept for the backward pass.
//
// The formula of a composite op is a plain function over tensors. The interpreter and the lowering
// trace it each time:
//   Values silu_formula(const OpNode&, const Values& x) { return {x[0] * logistic(x[0])}; }
//   const OpRules silu_rules({...,
//                             .eval = eval_composite<silu_formula>,
//                             .hlo = hlo_composite<silu_formula>,
//                             ...});
#pragma once

#include "ir/eval.h"
#include "ir/hlo_builder.h"
#include "ir/op_rules.h"

namespace axle {

/// Computes the results of `op` by other ops; x are the operands.
using Formula = Values (*)(const OpNode& op, const Values& x);

/// Traces `body` into a region with these parameters, with the layer path and phase of `op`.
std::unique_ptr<Region> trace_part(const OpNode& op, const std::vector<Type>& parameters,
                                   const std::function<Values(const Values&)>& body);
/// Traces the formula of `op` into a region, with the layer path and phase of `op`.
std::unique_ptr<Region> trace_formula(const OpNode& op, Formula formula);

template <Formula kFormula>
void eval_composite(const EvalOptions& options, const OpNode& op,
                    std::span<const HostTensor* const> x, std::span<HostTensor> y) {
  std::ranges::move(evaluate_borrowing(*trace_formula(op, kFormula), x, options), y.begin());
}

template <Formula kFormula>
HloValues hlo_composite(const OpNode& op, HloBuilder& b, const HloValues& x) {
  return b.inline_region(*trace_formula(op, kFormula), x);
}

}  // namespace axle
