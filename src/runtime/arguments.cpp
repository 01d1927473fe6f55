#include "runtime/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "base/text/text.h"

namespace axle {

void check_arguments(const std::string& program, std::span<const ProgramValue> inputs,
                     std::span<const ArrayPtr> arguments) {
  if (arguments.size() != inputs.size()) {
    throw ShapeError(fmt::format("program '{}': expected {} arguments, got {}", program,
                                 inputs.size(), arguments.size()));
  }
  std::unordered_map<const Array*, size_t> seen;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto where = [&] {
      return fmt::format("program '{}', argument {} '{}'", program, i, inputs[i].name);
    };
    const auto* array = arguments[i].get();
    if (!array)
      throw ShapeError(
          fmt::format("{}: expected {}, got no array", where(), to_text(inputs[i].type)));
    if (array->type() != inputs[i].type) {
      throw ShapeError(fmt::format("{}: expected {}, got {}", where(), to_text(inputs[i].type),
                                   to_text(array->type())));
    }
    const auto [other, is_new] = seen.emplace(array, i);
    if (!is_new && (inputs[i].donated_to >= 0 || inputs[other->second].donated_to >= 0)) {
      throw ShapeError(
          fmt::format("{}: expected a donated array as one argument, got it also as '{}'", where(),
                      inputs[other->second].name));
    }
  }
}

void throw_donated(const Type& type, const std::string& taken_by) {
  throw DeviceError(fmt::format(
      "array {}: expected a value, got one that was donated to program '{}'; use its result",
      to_text(type), taken_by));
}

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
