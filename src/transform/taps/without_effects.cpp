#include "transform/taps/without_effects.h"

#include "ir/op_rules.h"
#include "ir/tensor.h"
#include "ir/value_map.h"

namespace axle {

std::shared_ptr<const Region> without_effects(std::shared_ptr<const Region> region) {
  if (!has_effect(*region)) return region;
  auto out = std::make_shared<Region>();
  Copies copies;
  for (const Tensor& p : region->parameters())
    copies.set(p, out->add_parameter(p.type(), p.node()->scope ? *p.node()->scope : ""));
  const TraceScope scope(*out);
  for (const OpNode* op : region->ops()) {
    if (dynamic_cast<const EffectAttributes*>(op->attributes.get())) {
      copies.set_results(*op, copies.all(op->inputs));
      continue;
    }
    const PhaseScope phase(op->phase);
    clone_without_effects(*op, copies);
  }
  out->set_results(copies.all(region->results()));
  out->remove_dead_ops();
  verify_if_asked(*out);
  return out;
}

void clone_without_effects(const OpNode& op, Copies& copies) {
  const OriginScope origin(op);
  std::vector<std::shared_ptr<const Region>> regions;
  for (const auto& region : op.regions) regions.push_back(without_effects(region));
  copies.set_results(op,
                     emit_all(*op.rules, copies.all(op.inputs), op.attributes, std::move(regions)));
}

}  // namespace axle
