// Builds rows of the function table. The generated file (cmake/function_table.py) calls add_row for
// each public function; types are deduced from its signature.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "comparison/functions/attribute_value.h"
#include "comparison/functions/function.h"
#include "ops/create.h"

namespace axle {

/// One parameter as its declaration names it. The default is YAML text; none if it has no default.
struct DeclaredParameter {
  std::string name;
  std::optional<std::string> default_text;
};

inline void add_result(const Tensor& x, Values& out) { out.push_back(x); }
inline void add_result(const Values& x, Values& out) { out.insert(out.end(), x.begin(), x.end()); }
inline void add_result(const HostTensor& x, Values& out) { out.push_back(constant(x)); }
inline void add_result(const random::Key& x, Values& out) { out.push_back(x.data()); }
inline void add_result(const std::vector<random::Key>& x, Values& out) {
  for (const random::Key& key : x) out.push_back(key.data());
}
inline void add_result(const std::pair<Tensor, Tensor>& x, Values& out) {
  out.insert(out.end(), {x.first, x.second});
}
/// Of outputs and their derivatives: integers have none.
inline void add_result(const std::pair<Values, Values>& x, Values& out) {
  add_result(x.first, out);
  std::ranges::copy_if(x.second, std::back_inserter(out),
                       [](const Tensor& d) { return static_cast<bool>(d); });
}

namespace detail {

/// Reads "x;axis=-1".
std::vector<DeclaredParameter> declared_parameters(std::string_view text);
/// Returns the value of an attribute: of the call, else its default.
nlohmann::ordered_json value_of(const DeclaredParameter& attribute, const FunctionCall& call);
/// Throws `<name>: <message of the error>`.
[[noreturn]] void fail_attribute(std::string_view name, const std::exception& error);
/// Puts operands first, then functions, then attributes.
void sort_parameters(std::vector<Parameter>& parameters);

template <class R, class... P>
std::function<R(P...)> named(std::string_view name, std::function<R(P...)> fn) {
  return [name = std::string(name), fn = std::move(fn)](P... arguments) -> R {
    try {
      return fn(arguments...);
    } catch (const ConfigError& error) {
      fail_attribute(name, error);
    }
  };
}

template <class T>
T read_attribute(std::string_view name, const nlohmann::ordered_json& value) {
  try {
    T out = attribute_from<T>(value);
    if constexpr (kIsFunction<T>) {
      return named(name, std::move(out));
    } else {
      return out;
    }
  } catch (const ConfigError& error) {
    fail_attribute(name, error);
  }
}

/// A struct of options stands for its fields.
template <class T>
void describe(const DeclaredParameter& given, std::vector<Parameter>& out) {
  if constexpr (std::is_same_v<T, Tensor> || std::is_same_v<T, random::Key>) {
    out.push_back({.name = given.name, .kind = Parameter::Kind::kTensor});
  } else if constexpr (std::is_same_v<T, Values>) {
    out.push_back({.name = given.name, .kind = Parameter::Kind::kTensors});
  } else if constexpr (HasOptionFields<T>) {
    T options{};
    visit_fields(options, [&](std::string_view name, auto& field) {
      using Field = std::decay_t<decltype(field)>;
      if constexpr (std::is_same_v<Field, Tensor>) {
        out.push_back({.name = std::string(name), .kind = Parameter::Kind::kTensor});
      } else {
        out.push_back(
            {.name = std::string(name), .type = attribute_type<Field>(), .default_text = ""});
      }
    });
  } else {
    if (given.default_text && !given.default_text->empty())
      read_attribute<ArgumentStorage<T>>(given.name, value_of(given, {}));  // or it throws
    out.push_back(
        {.name = given.name, .type = attribute_type<T>(), .default_text = given.default_text});
  }
}

template <class T>
T argument(const DeclaredParameter& given, const FunctionCall& call) {
  if constexpr (std::is_same_v<T, Tensor>) {
    return call.operands.at(given.name).at(0);
  } else if constexpr (std::is_same_v<T, random::Key>) {
    // The operand is the words of the key; impl_of finds its generator.
    const Tensor& words = call.operands.at(given.name).at(0);
    return random::Key::wrap(words, random::impl_of(words));
  } else if constexpr (std::is_same_v<T, Values>) {
    return call.operands.at(given.name);
  } else if constexpr (HasOptionFields<T>) {
    T options{};
    visit_fields(options, [&](std::string_view name, auto& field) {
      using Field = std::decay_t<decltype(field)>;
      if constexpr (std::is_same_v<Field, Tensor>) {
        field = call.operands.at(std::string(name)).at(0);
      } else if (const auto it = call.attributes.find(name); it != call.attributes.end()) {
        field = read_attribute<Field>(name, *it);
      }
    });
    return options;
  } else {
    return read_attribute<T>(given.name, value_of(given, call));
  }
}

template <class R, class... P, size_t... I>
Function row_of(std::string_view parameters, R (*fn)(P...), std::index_sequence<I...>) {
  Function out;
  std::vector<DeclaredParameter> declared = declared_parameters(parameters);
  (describe<std::decay_t<P>>(declared[I], out.parameters), ...);
  sort_parameters(out.parameters);
  out.run = [fn, declared = std::move(declared)](const FunctionCall& call) {
    // Braces: the arguments are read from left to right.
    std::tuple<ArgumentStorage<std::decay_t<P>>...> arguments{
        argument<ArgumentStorage<std::decay_t<P>>>(declared[I], call)...};
    Values results;
    add_result(std::apply(fn, std::move(arguments)), results);
    return results;
  };
  return out;
}
template <class R, class... P>
Function row_of(std::string_view parameters, R (*fn)(P...)) {
  return row_of(parameters, fn, std::index_sequence_for<P...>());
}

/// Appends the row of a function; S chooses one of its overloads.
template <class S>
void add_row(std::vector<Function>& out, const char* name, const char* cpp_name,
             const char* parameters, S* fn) {
  out.push_back(row_of(parameters, fn));
  out.back().name = name;
  out.back().cpp_name = cpp_name;
}

}  // namespace detail
}  // namespace axle
