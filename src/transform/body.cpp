#include "transform/body.h"

#include "base/concatenate.h"
#include "ir/eval.h"
#include "ir/hlo_builder.h"
#include "transform/trace.h"

namespace axle {

std::vector<Type> infer_body(const OpNode& op) { return types_of(op.region().results()); }

HloValues inline_body(const OpNode& op, HloBuilder& b, const HloValues& x) {
  return b.inline_region(op.region(), x);
}

void eval_body(const EvalOptions& options, const OpNode& op, std::span<const HostTensor* const> x,
               std::span<HostTensor> y) {
  std::ranges::move(evaluate_borrowing(op.region(), x, options), y.begin());
}

std::vector<RegionRuns> one_run(const OpNode&) { return {{}}; }

ParameterSource operand_of_parameter(const OpNode& op, ParameterSource::Run, size_t parameter) {
  return {op.inputs[parameter]};
}

Widened widen_body(const OpNode& op, const Values& inputs,
                   std::span<const std::shared_ptr<const Region>> regions, int64_t) {
  return widened(op, inline_region(*regions[0], inputs));
}

Widened widened(const OpNode& op, const Values& all) {
  const std::span values(all);
  Widened out{.results = concatenate<Tensor>({values.first(op.outputs.size())}),
              .extra = std::vector<Values>(op.regions.size()),
              .ran = Values(op.regions.size())};
  out.extra[0] = concatenate<Tensor>({values.subspan(op.outputs.size())});
  return out;
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
