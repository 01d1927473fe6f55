#include "transform/clone.h"

namespace axle {

Copies::Copies(const Values& values, const Values& copies) {
  AXLE_CHECK(values.size() == copies.size(), "one copy for each value");
  for (size_t i = 0; i < values.size(); ++i) set(values[i], copies[i]);
}

Values Copies::all(const Values& values) const {
  Values out;
  out.reserve(values.size());
  for (const Tensor& t : values) out.push_back(at(t));
  return out;
}

void Copies::set_results(const OpNode& op, const Values& copies) {
  for (uint32_t i = 0; i < copies.size(); ++i) {
    if (copies[i]) set(Tensor(const_cast<OpNode*>(&op), i), copies[i]);
  }
}

const OpNode& Copies::clone(const OpNode& op) {
  const OriginScope origin(op);
  const OpNode& copy =
      *TraceScope::current().append(*op.rules, all(op.inputs), op.attributes, op.regions);
  for (uint32_t i = 0; i < copy.outputs.size(); ++i)
    copies_.insert(Tensor(const_cast<OpNode*>(&op), i), copy.result(i));
  return copy;
}

}  // namespace axle
