#include "transform/body.h"

#include <fmt/format.h>

#include "base/lists.h"
#include "ir/eval.h"
#include "ir/hlo_builder.h"
#include "transform/marks.h"
#include "transform/remat/partition.h"
#include "transform/simplify.h"
#include "transform/trace.h"

namespace axle {

void check_num_regions(const OpNode& op, size_t expected) {
  if (op.regions.size() == expected) return;
  shape_error(op, fmt::format("expected {} regions, got {}", expected, op.regions.size()));
}

void check_parameters(const OpNode& op, size_t index, const std::vector<Type>& arguments) {
  const Values& parameters = op.region(index).parameters();
  if (parameters.size() != arguments.size()) {
    shape_error(op, fmt::format("expected {} arguments for region {}, got {}", parameters.size(),
                                index, arguments.size()));
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (parameters[i].type() == arguments[i]) continue;
    shape_error(op, fmt::format("expected {} as argument {} of region {}, got {}",
                                to_text(parameters[i].type()), i, index, to_text(arguments[i])));
  }
}

std::vector<Type> infer_body(const OpNode& op) {
  check_num_regions(op, 1);
  check_parameters(op, 0, types_of(op.inputs));
  return types_of(op.region().results());
}

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

Pruned prune_body(const OpNode& op, const std::vector<bool>& used) {
  const Region& body = op.region();
  const auto whole =
      simplify(*slice_region(body, body.parameters(), selected(body.results(), used)));
  Pruned out{.inputs = needed_parameters(*whole)};
  auto smaller = slice_region(*whole, selected(whole->parameters(), out.inputs), whole->results());
  out.emit = [&op, used, smaller = std::move(smaller)](const Values& inputs) {
    return spread_results(emit_all(*op.rules, inputs, op.attributes, {smaller}), used);
  };
  return out;
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
