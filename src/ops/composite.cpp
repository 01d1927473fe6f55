#include "ops/composite.h"

namespace axle {

std::unique_ptr<Region> trace_formula(const OpNode& op, Formula formula) {
  auto region = std::make_unique<Region>();
  const TraceScope trace(*region);
  const NameScope scope(op.scope);
  const PhaseScope phase(op.phase);
  Values parameters;
  for (const Tensor& t : op.inputs) parameters.push_back(region->add_parameter(t.type()));
  region->set_results(formula(op, parameters));
  return region;
}

}  // namespace axle
