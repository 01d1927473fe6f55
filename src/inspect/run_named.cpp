#include "inspect/run_named.h"

#include "lower/stablehlo.h"
#include "transform/trace.h"

namespace axle {

Tree<HostTensor> run_named(const std::string& program_name, const NamedFunction& fn,
                           const Tree<HostTensor>& arguments, Runtime& runtime) {
  std::vector<Type> types;
  std::vector<std::string> names, result_names;
  std::vector<ProgramValue> inputs, outputs;
  Arrays arrays;
  for (const auto& [name, value] : arguments) {
    types.push_back(value.type());
    names.push_back(name);
    inputs.push_back({.name = name, .type = value.type()});
    arrays.push_back(runtime.make_array(value, {}, {}));
  }
  const auto region = trace(
      [&](const Values& values) {
        Tree<Tensor> named;
        for (size_t i = 0; i < values.size(); ++i) named.emplace(names[i], values[i]);
        Values results;
        result_names.clear();
        for (const auto& [name, value] : fn(named)) {
          result_names.push_back(name);
          results.push_back(value);
        }
        return results;
      },
      types, names);
  for (size_t i = 0; i < result_names.size(); ++i) {
    outputs.push_back({.name = result_names[i], .type = region->results()[i].type()});
  }
  const Program program = lower(region, program_name, std::move(inputs), std::move(outputs));
  const Arrays results = runtime.compile(program)->execute(arrays);
  Tree<HostTensor> out;
  for (size_t i = 0; i < results.size(); ++i) out.emplace(result_names[i], results[i]->to_host());
  return out;
}

}  // namespace axle
