#include "transform/trace.h"

#include <fmt/format.h>

#include "base/error.h"
#include "ir/eval.h"
#include "ir/verify.h"

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
  verify_in_debug(*region);
  return region;
}

ClosedRegion trace_closed(const TensorFunction& fn, const std::vector<Type>& types) {
  auto region = std::make_shared<Region>(&TraceScope::current());
  fill(*region, fn, types, {});
  region->remove_dead_ops();
  Values captures = region->close();
  verify_in_debug(*region);
  return {std::move(region), std::move(captures)};
}

Values ClosedRegion::operands(const Values& arguments) const {
  Values out = captures;
  out.insert(out.end(), arguments.begin(), arguments.end());
  return out;
}

Values inline_region(const Region& region, const Values& arguments) {
  AXLE_CHECK(arguments.size() == region.parameters().size(), "one argument for each parameter");
  TensorMap map;
  for (size_t i = 0; i < arguments.size(); ++i) map[region.parameters()[i]] = arguments[i];
  for (const OpNode* op : region.ops()) clone_op(*op, map);
  return map_all(map, region.results());
}

void clone_op(const OpNode& op, TensorMap& map) {
  const NameScope scope(op.scope);
  const Values copies = emit_all(*op.rules, map_all(map, op.inputs), op.attributes, op.regions);
  for (uint32_t i = 0; i < copies.size(); ++i)
    map.try_emplace(Tensor(const_cast<OpNode*>(&op), i), copies[i]);
}

Values map_all(const TensorMap& map, const Values& values) {
  Values out;
  out.reserve(values.size());
  for (const Tensor& t : values) out.push_back(map.at(t));
  return out;
}

std::vector<HostTensor> eval(const TensorFunction& fn, const std::vector<HostTensor>& arguments,
                             const EvalOptions& options) {
  std::vector<Type> types;
  for (const HostTensor& a : arguments) types.push_back(a.type());
  return evaluate(*trace(fn, types), arguments, options);
}

}  // namespace axle
