#include "lower/trace_program.h"

#include "lower/stablehlo.h"
#include "transform/simplify.h"

namespace axle {

Program trace_program(std::string name, const TensorFunction& fn, std::vector<ProgramValue> inputs,
                      const std::vector<ProgramValue>& outputs, const Mesh& mesh) {
  std::vector<Type> types;
  std::vector<std::string> names;
  for (const ProgramValue& v : inputs) {
    types.push_back(v.type);
    names.push_back(v.name);
  }
  auto graph = simplify(*trace(fn, types, names));
  return lower(std::move(graph), std::move(name), std::move(inputs), outputs, mesh);
}

}  // namespace axle
