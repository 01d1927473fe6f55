// Rules shared by ops that run their one region once.
#pragma once

#include "ir/op_rules.h"

namespace axle {

/// The types of the region's results.
std::vector<Type> infer_body(const OpNode& op);
void eval_body(const EvalOptions& options, const OpNode& op, std::span<const HostTensor* const> x,
               std::span<HostTensor> y);
/// Lowers to the ops of the region.
std::vector<HloValue> inline_body(const OpNode& op, HloBuilder& b, const std::vector<HloValue>& x);
/// Sums of CostRule over the ops of the region; those of a loop count for each of its iterations.
double region_flops(const Region& region);
double region_bytes(const Region& region);
/// Those of the op's first region, run once.
double body_flops(const OpNode& op);
double body_bytes(const OpNode& op);

}  // namespace axle
