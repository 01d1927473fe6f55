#include "data/chat/jinja/macro.h"

#include <fmt/format.h>

#include <algorithm>

namespace axle::jinja {

std::optional<Value> Macro::attribute(std::string_view name) {
  if (name == "name") return Value(name_);
  if (name == "catch_kwargs") return Value(node_->uses_kwargs);
  if (name == "catch_varargs") return Value(node_->uses_varargs);
  if (name == "caller") return Value(node_->uses_caller);
  if (name != "arguments") return std::nullopt;
  std::vector<Value> names;
  for (const Parameter& parameter : node_->parameters) names.emplace_back(parameter.name);
  return Value::tuple(std::move(names));
}

void Macro::bind(const Arguments& arguments, Scope& inner, std::vector<bool>& is_given) const {
  const auto& parameters = node_->parameters;
  const size_t count = std::min(arguments.positional.size(), parameters.size());
  for (size_t i = 0; i < count; ++i) {
    inner.set(parameters[i].name, arguments.positional[i]);
    is_given[i] = true;
  }
  if (arguments.positional.size() > parameters.size() && !node_->uses_varargs) {
    throw JinjaError(fmt::format("macro '{}': expected at most {} arguments, got {}", name_,
                                 parameters.size(), arguments.positional.size()));
  }
  std::vector<std::pair<Value, Value>> rest;
  bool has_caller = false;
  for (const auto& [name, value] : arguments.named) {
    const auto at = std::ranges::find(parameters, name, &Parameter::name);
    if (at != parameters.end()) {
      const auto i = static_cast<size_t>(at - parameters.begin());
      if (is_given[i]) {
        throw JinjaError(
            fmt::format("macro '{}': expected the argument '{}' once, got two", name_, name));
      }
      inner.set(name, value);
      is_given[i] = true;
    } else if (name == "caller" && node_->uses_caller) {
      inner.set(name, value);
      has_caller = true;
    } else if (node_->uses_kwargs) {
      rest.emplace_back(Value(name), value);
    } else {
      throw JinjaError(fmt::format("macro '{}': expected no argument '{}', got one", name_, name));
    }
  }
  if (node_->uses_caller && !has_caller &&
      std::ranges::find(parameters, "caller", &Parameter::name) == parameters.end())
    inner.set("caller", Value::undefined("No caller defined"));
  if (node_->uses_kwargs) inner.set("kwargs", Value::dict(std::move(rest)));
  if (node_->uses_varargs) {
    const auto begin = arguments.positional.begin() + static_cast<std::ptrdiff_t>(count);
    inner.set("varargs", Value::tuple({begin, arguments.positional.end()}));
  }
}

Value Macro::call(Machine& machine, const Arguments& arguments) {
  const auto inner = std::make_shared<Scope>(scope_);
  std::vector<bool> is_given(node_->parameters.size());
  bind(arguments, *inner, is_given);
  for (size_t i = 0; i < is_given.size(); ++i) {
    if (is_given[i]) continue;
    const Parameter& parameter = node_->parameters[i];
    inner->set(parameter.name, parameter.fallback
                                   ? interpreter_->evaluate(*parameter.fallback, inner)
                                   : Value::undefined(fmt::format("parameter '{}' was not provided",
                                                                  parameter.name)));
  }
  return machine.text(interpreter_->capture(node_->body, inner));
}

}  // namespace axle::jinja
