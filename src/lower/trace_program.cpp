#include "lower/trace_program.h"

#include <fmt/format.h>

#include "lower/stablehlo.h"
#include "transform/clone.h"
#include "transform/simplify.h"

namespace axle {

Program trace_program(std::string name, const TensorFunction& fn, std::vector<ProgramValue> inputs,
                      const std::vector<ProgramValue>& outputs, const Mesh& mesh,
                      std::vector<CollectedTap>* prints) {
  std::vector<Type> types;
  std::vector<std::string> names;
  for (const ProgramValue& v : inputs) {
    types.push_back(v.type);
    names.push_back(v.name);
  }
  std::shared_ptr<const Region> traced = trace(fn, types, names);
  std::vector<ProgramValue> all = outputs;
  if (prints) {
    Tapped tapped = collect_taps(*traced, Collect::kPrints);
    traced = std::move(tapped.region);
    *prints = std::move(tapped.taps);
    for (size_t i = all.size(); i < traced->results().size(); ++i)
      all.push_back({fmt::format("debug_print/{}", i), traced->results()[i].type()});
  }
  auto graph = simplify(*without_effects(std::move(traced)));
  return lower(std::move(graph), std::move(name), std::move(inputs), std::move(all), mesh);
}

}  // namespace axle
