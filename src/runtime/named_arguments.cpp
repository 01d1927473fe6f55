#include "runtime/named_arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/text.h"

namespace axle {
namespace {

std::vector<std::string> names_of(std::span<const ProgramValue> inputs) {
  std::vector<std::string> out;
  for (const ProgramValue& input : inputs) out.push_back(input.name);
  return out;
}

}  // namespace

void append_by_name(Arrays& arguments, const Tree<HostTensor>& values, const Program& program,
                    Runtime& runtime) {
  AXLE_CHECK(arguments.size() <= program.inputs.size(), "more arguments than inputs");
  const auto inputs = std::span(program.inputs).subspan(arguments.size());
  for (const auto& [name, value] : values) {
    if (std::ranges::count(inputs, name, &ProgramValue::name) > 0) continue;
    const std::vector<std::string> names = names_of(inputs);
    throw ShapeError(fmt::format("program '{}': expected the inputs {}, got '{}'{}", program.name,
                                 join(names, ", "), name, suggest(name, names)));
  }
  for (const ProgramValue& input : inputs) {
    const auto it = values.find(input.name);
    if (it == values.end() || it->second.type() != input.type) {
      throw ShapeError(fmt::format("program '{}', input '{}': expected {}, got {}", program.name,
                                   input.name, to_text(input.type),
                                   it == values.end() ? "none" : to_text(it->second.type())));
    }
    arguments.push_back(runtime.make_array(it->second, input.sharding, program.mesh));
  }
}

}  // namespace axle
