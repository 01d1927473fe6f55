#include "runtime/signature.h"

#include <fmt/format.h>

#include <unordered_map>

#include "base/error.h"

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

}  // namespace axle
