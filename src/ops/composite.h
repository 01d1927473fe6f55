// Rows defined by other ops, with a derivative of their own: fewer values are kept for the backward
// pass.
//
// The formula of such an op is a plain function over tensors, which is traced anew to be
// interpreted or lowered:
//   Values silu_formula(const OpNode&, const Values& x) { return {x[0] * logistic(x[0])}; }
//   const OpRules silu_rules({..., .eval = eval_composite<silu_formula>, .hlo =
//   hlo_composite<silu_formula>, ...});
#pragma once

#include "ir/eval.h"
#include "ir/hlo_builder.h"
#include "ir/op_rules.h"

namespace axle {

/// The results of `op` in terms of other ops.
using Formula = Values (*)(const OpNode& op, const Values& x);

/// A region that computes the op by its formula, under the op's own layer path.
std::unique_ptr<Region> trace_formula(const OpNode& op, Formula formula);

template <Formula kFormula>
void eval_composite(const EvalOptions& options, const OpNode& op,
                    std::span<const HostTensor* const> x, std::span<HostTensor> y) {
  std::vector<HostTensor> arguments;
  for (const HostTensor* v : x) arguments.push_back(*v);
  std::ranges::move(evaluate(*trace_formula(op, kFormula), std::move(arguments), options),
                    y.begin());
}

template <Formula kFormula>
HloValues hlo_composite(const OpNode& op, HloBuilder& b, const HloValues& x) {
  return b.inline_region(*trace_formula(op, kFormula), x);
}

}  // namespace axle
