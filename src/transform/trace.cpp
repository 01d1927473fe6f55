#include "transform/trace.h"

#include <fmt/format.h>

#include "base/error.h"
#include "ir/eval.h"
#include "ir/op_rules.h"
#include "ir/tensor.h"
#include "ir/value_map.h"

namespace axle {
namespace {

void fill(Region& region, const TensorFunction& fn, const std::vector<Type>& types,
          const std::vector<std::string>& names) {
  const TraceScope scope(region);
  const PhaseScope phase(Phase::kForward);
  Values parameters;
  for (size_t i = 0; i < types.size(); ++i) {
    parameters.push_back(
        region.add_parameter(types[i], i < names.size() ? names[i] : std::string()));
  }
  region.set_results(fn(parameters));
}

}  // namespace

std::shared_ptr<Region> trace(const TensorFunction& fn, const std::vector<Type>& types,
                              const std::vector<std::string>& names) {
  auto region = std::make_shared<Region>();
  fill(*region, fn, types, names);
  region->remove_dead_ops();
  verify_if_asked(*region);
  return region;
}

ClosedRegion trace_closed(const TensorFunction& fn, const std::vector<Type>& types) {
  auto region = std::make_shared<Region>(&TraceScope::current());
  fill(*region, fn, types, {});
  region->remove_dead_ops();
  Values captures = region->close();
  verify_if_asked(*region);
  return {std::move(region), std::move(captures)};
}

Values ClosedRegion::operands(const Values& arguments) const {
  Values out = captures;
  out.insert(out.end(), arguments.begin(), arguments.end());
  return out;
}

Values inline_region(const Region& region, const Values& arguments) {
  AXLE_CHECK(arguments.size() == region.parameters().size(), "one argument for each parameter");
  Copies copies(region.parameters(), arguments);
  for (const OpNode* op : region.ops()) copies.clone(*op);
  return copies.all(region.results());
}

std::vector<HostTensor> eval(const TensorFunction& fn, const std::vector<HostTensor>& arguments,
                             const EvalOptions& options) {
  std::vector<Type> types;
  for (const HostTensor& a : arguments) types.push_back(a.type());
  return evaluate(*trace(fn, types), arguments, options);
}

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
    if (copies[i]) set(Tensor(&op, i), copies[i]);
  }
}

const OpNode& Copies::clone(const OpNode& op) {
  const OriginScope origin(op);
  const OpNode& copy =
      *TraceScope::current().append(*op.rules, all(op.inputs), op.attributes, op.regions);
  for (uint32_t i = 0; i < copy.outputs.size(); ++i) copies_.insert(Tensor(&op, i), copy.result(i));
  return copy;
}

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
