#include "inspect/eval_layer/cotangents.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text/text.h"
#include "ops/movement/shape.h"

namespace axle {
namespace {

// Returns the names that the cotangent of an output may have. Messages show the first one.
std::vector<std::string> names_for(const NamedOutput& output, size_t place) {
  const std::string number = std::to_string(place);
  if (output.name.empty()) return {number, "out"};
  return {output.name, number, "out/" + output.name};
}

Tensor as_output(const std::string& name, const Tensor& cotangent, const Type& type) {
  const bool is_scalar = cotangent.type().num_elements() == 1 && type.num_elements() == 1 &&
                         cotangent.rank() <= 1 && type.rank() <= 1;
  const Tensor out = is_scalar ? reshape(cotangent, type.dims) : cotangent;
  if (out.type() == type) return out;
  throw ConfigError(fmt::format("cotangent/{}: expected {}, got {}", name, to_text(type),
                                to_text(cotangent.type())));
}

}  // namespace

Values cotangents_for(const std::vector<NamedOutput>& outputs, const Tree<Tensor>& given) {
  Values out;
  Tree<Tensor> left = given;
  std::vector<std::string> wanted;
  const Tensor* differentiable = nullptr;  // the last output that has a gradient
  for (size_t i = 0; i < outputs.size(); ++i) {
    out.emplace_back();
    if (!is_differentiable(outputs[i].value.dtype())) continue;
    const std::vector<std::string> names = names_for(outputs[i], i);
    wanted.push_back("cotangent/" + names[0]);
    differentiable = &outputs[i].value;
    for (const std::string& name : names) {
      const auto it = left.find(name);
      if (it == left.end()) continue;
      if (out.back()) {
        throw ConfigError(fmt::format(
            "cotangent/{}: expected one cotangent for this output, got cotangent/{} as well",
            names[0], name));
      }
      out.back() = as_output(name, it->second, outputs[i].value.type());
      left.erase(it);
    }
  }
  if (wanted.empty())
    throw ConfigError("cotangent: expected a floating-point or complex output, got none");
  if (!left.empty()) {
    const std::string& name = left.begin()->first;
    const bool is_number = name.find_first_not_of("0123456789") == name.npos;
    const std::string shown = "cotangent/" + name;
    throw ConfigError(fmt::format(
        "{}: expected a floating-point output of this {}, got none{} (outputs: {})", shown,
        is_number ? "number" : "name", suggest(shown, wanted), join(wanted, ", ")));
  }
  if (given.empty()) {
    throw DataError(
        wanted.size() == 1
            ? fmt::format("{}: expected {}, got none", wanted[0], to_text(differentiable->type()))
            : fmt::format("cotangent: expected at least one of {}, got none", join(wanted, ", ")));
  }
  return out;
}

}  // namespace axle
