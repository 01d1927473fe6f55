#include "ops/composite.h"

namespace axle {

std::unique_ptr<Region> trace_part(const OpNode& op, const std::vector<Type>& parameters,
                                   const std::function<Values(const Values&)>& body) {
  auto region = std::make_unique<Region>();
  const TraceScope trace(*region);
  const OriginScope origin(op);
  const PhaseScope phase(op.phase);
  Values arguments;
  for (const Type& type : parameters) arguments.push_back(region->add_parameter(type));
  region->set_results(body(arguments));
  return region;
}

std::unique_ptr<Region> trace_formula(const OpNode& op, Formula formula) {
  return trace_part(op, types_of(op.inputs), [&](const Values& x) { return formula(op, x); });
}

}  // namespace axle
