// Rules of ops that run their body, the first region, once: call, remat, custom_vjp, kernel_call.
#pragma once

#include "ir/op_rules.h"

namespace axle {

/// Returns the types of the body's results. Throws ShapeError unless the body is the op's only
/// region and takes its operands.
std::vector<Type> infer_body(const OpNode& op);
/// For infer rules of ops with regions: throws ShapeError unless the op has this number of regions.
void check_num_regions(const OpNode& op, size_t expected);
/// Throws ShapeError unless region number `index` of the op has parameters of these types.
void check_parameters(const OpNode& op, size_t index, const std::vector<Type>& arguments);
/// Interprets the body.
void eval_body(const EvalOptions& options, const OpNode& op, std::span<const HostTensor* const> x,
               std::span<HostTensor> y);
/// Lowers the op to the ops of its body.
std::vector<HloValue> inline_body(const OpNode& op, HloBuilder& b, const std::vector<HloValue>& x);
/// Regions rule: the body runs once.
std::vector<RegionRuns> one_run(const OpNode& op);
/// Source rule: the parameters of each region are the operands of the op.
ParameterSource operand_of_parameter(const OpNode& op, ParameterSource::Run run, size_t parameter);
/// Prune rule: the op keeps the used results, and the operands that they need.
Pruned prune_body(const OpNode& op, const std::vector<bool>& used);
/// Widen rule: the ops of the body take the place of the op.
Widened widen_body(const OpNode& op, const Values& inputs,
                   std::span<const std::shared_ptr<const Region>> regions, int64_t max_runs);
/// Splits `all` into the op's own results and the extra values of its first region, which always
/// runs.
Widened widened(const OpNode& op, const Values& all);
/// Sum the costs (CostRule) of the ops of the region. The body of a loop counts once for each
/// iteration.
double region_flops(const Region& region);
double region_bytes(const Region& region);
/// Costs of one run of the op's body.
double body_flops(const OpNode& op);
double body_bytes(const OpNode& op);

}  // namespace axle
