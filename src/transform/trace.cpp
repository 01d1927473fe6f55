#include "transform/trace.h"

#include <fmt/format.h>

#include "base/error.h"
#include "ir/eval.h"
#include "ir/value_map.h"
#include "transform/clone.h"

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

}  // namespace axle
