#include "transform/body.h"

#include "ir/eval.h"
#include "ir/hlo_builder.h"

namespace axle {

std::vector<Type> infer_body(const OpNode& op) { return types_of(op.region().results()); }

HloValues inline_body(const OpNode& op, HloBuilder& b, const HloValues& x) {
  return b.inline_region(op.region(), x);
}

void eval_body(const EvalOptions& options, const OpNode& op, std::span<const HostTensor* const> x,
               std::span<HostTensor> y) {
  std::ranges::move(evaluate_borrowing(op.region(), x, options), y.begin());
}

double region_flops(const Region& region) {
  double sum = 0;
  for (const OpNode* op : region.ops()) sum += op->rules->row().cost.flops(*op);
  return sum;
}
double region_bytes(const Region& region) {
  double sum = 0;
  for (const OpNode* op : region.ops()) sum += op->rules->row().cost.bytes(*op);
  return sum;
}
double body_flops(const OpNode& op) { return region_flops(op.region()); }
double body_bytes(const OpNode& op) { return region_bytes(op.region()); }

}  // namespace axle
