// The public tensor functions of ops/ and transform/ as a table: each can be called by name, with
// attributes given as data.
//
// A row is a signature and the C++ function. The signature names the parameters in their order and
// gives the defaults; the types follow from C++:
//   function("roll(x, shift, axis)", roll)
//   function("add: operator+(a, b)", overload<Tensor(const Tensor&, const Tensor&)>(operator+))
// The operand of a random::Key is its words; random::impl_of says its generator.
// A parameter of a struct of options stands for the fields of the struct (attribute_value.h).
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text/yaml.h"
#include "functions/attribute_value.h"
#include "ir/tensor.h"
#include "ops/create.h"
#include "ops/movement/index.h"
#include "ops/random/key.h"
#include "ops/reductions/softmax.h"
#include "transform/control_flow/scan.h"

namespace axle {

inline Values result_values(Tensor x) { return {std::move(x)}; }
inline Values result_values(Values x) { return x; }
inline Values result_values(const random::Key& x) { return {x.data()}; }
inline Values result_values(const std::vector<random::Key>& x) {
  Values out;
  for (const random::Key& key : x) out.push_back(key.data());
  return out;
}
inline Values result_values(const HostTensor& x) { return {constant(x)}; }
inline Values result_values(const std::pair<Tensor, Tensor>& x) { return {x.first, x.second}; }
inline Values result_values(const CrossEntropy& x) { return {x.loss, x.log_z}; }
inline Values result_values(const Unique& x) {
  return {x.values, x.first_indices, x.inverse, x.counts};
}
/// The carry, then the ys.
inline Values result_values(const ScanResult& x) {
  Values out = x.carry;
  out.insert(out.end(), x.ys.begin(), x.ys.end());
  return out;
}

struct Parameter {
  enum class Kind { kTensor, kTensors, kAttribute };
  std::string name;
  Kind kind = Kind::kAttribute;
  /// Of an attribute, for messages: "int", "[int]", "clip|fill".
  std::string type = {};
  /// YAML text. None: the parameter must be given.
  std::optional<std::string> default_text = {};
};

/// What a function is called with.
struct FunctionCall {
  /// A parameter of kind kTensor has one value.
  std::map<std::string, Values> operands = {};
  /// A document as parse_yaml returns it: name -> value.
  nlohmann::ordered_json attributes = nlohmann::ordered_json::object();
};

struct Function {
  std::string name;      // "add", "random::uniform"
  std::string cpp_name;  // "operator+", "random::uniform"
  std::vector<Parameter> parameters = {};
  /// Requires a call that fits (fits()). Throws ConfigError "<attribute>: ..." for a value that is
  /// no text of its type, and what the function throws.
  std::function<Values(const FunctionCall&)> run = {};

  std::vector<const Parameter*> operands() const;
  /// Writes "roll(x, shift: int, axis: int)".
  std::string text() const;
};

/// One parameter of a signature.
struct SignatureName {
  std::string name;
  std::optional<std::string> default_text;
};
struct Signature {
  std::string name, cpp_name;
  std::vector<SignatureName> parameters;
};
/// Reads "name(a, b=1)" or "name: cpp_name(a, b=1)". Throws InternalError.
Signature parse_signature(std::string_view text, size_t num_parameters);

/// Chooses one of several functions of a C++ name by its type.
template <class S>
S* overload(S* fn) {
  return fn;
}

namespace detail {

template <class T>
void describe(const SignatureName& given, std::vector<Parameter>& out) {
  if constexpr (std::is_same_v<T, Tensor> || std::is_same_v<T, random::Key>) {
    out.push_back({.name = given.name, .kind = Parameter::Kind::kTensor});
  } else if constexpr (std::is_same_v<T, Values>) {
    out.push_back({.name = given.name, .kind = Parameter::Kind::kTensors});
  } else if constexpr (HasOptionFields<T>) {
    T options{};
    visit_fields(options, [&](std::string_view name, auto& field) {
      out.push_back({.name = std::string(name),
                     .type = attribute_type<std::decay_t<decltype(field)>>(),
                     .default_text = ""});
    });
  } else {
    out.push_back(
        {.name = given.name, .type = attribute_type<T>(), .default_text = given.default_text});
  }
}

/// Returns the value of an attribute: of the call, else its default.
nlohmann::ordered_json value_of(const SignatureName& attribute, const FunctionCall& call);
/// Throws `<name>: <message of the error>`.
[[noreturn]] void fail_attribute(std::string_view name, const std::exception& error);

template <class T>
T read_attribute(std::string_view name, const nlohmann::ordered_json& value) {
  try {
    T out = attribute_from<T>(value);
    if constexpr (std::is_same_v<T, TensorFunction>) {
      return [name = std::string(name), fn = std::move(out)](const Values& arguments) {
        try {
          return fn(arguments);
        } catch (const ConfigError& error) {
          fail_attribute(name, error);
        }
      };
    } else {
      return out;
    }
  } catch (const ConfigError& error) {
    fail_attribute(name, error);
  }
}

template <class T>
T argument(const SignatureName& given, const FunctionCall& call) {
  if constexpr (std::is_same_v<T, Tensor>) {
    return call.operands.at(given.name).at(0);
  } else if constexpr (std::is_same_v<T, random::Key>) {
    const Tensor& words = call.operands.at(given.name).at(0);
    return random::Key::wrap(words, random::impl_of(words));
  } else if constexpr (std::is_same_v<T, Values>) {
    return call.operands.at(given.name);
  } else if constexpr (HasOptionFields<T>) {
    T options{};
    visit_fields(options, [&](std::string_view name, auto& field) {
      const auto it = call.attributes.find(name);
      if (it != call.attributes.end())
        field = read_attribute<std::decay_t<decltype(field)>>(name, *it);
    });
    return options;
  } else {
    return read_attribute<T>(given.name, value_of(given, call));
  }
}

template <class R, class... P, size_t... I>
Function bind(Signature signature, R (*fn)(P...), std::index_sequence<I...>) {
  Function out{.name = signature.name, .cpp_name = signature.cpp_name};
  (describe<std::decay_t<P>>(signature.parameters[I], out.parameters), ...);
  out.run = [fn, names = std::move(signature.parameters)](const FunctionCall& call) {
    // Braces: the arguments are read from left to right.
    std::tuple<ArgumentStorage<std::decay_t<P>>...> arguments{
        argument<ArgumentStorage<std::decay_t<P>>>(names[I], call)...};
    return result_values(std::apply(fn, std::move(arguments)));
  };
  return out;
}
template <class R, class... P>
Function bind(std::string_view signature, R (*fn)(P...)) {
  return bind(parse_signature(signature, sizeof...(P)), fn, std::index_sequence_for<P...>());
}

}  // namespace detail

/// Makes a row of the table.
template <class S>
Function function(std::string_view signature, S* fn) {
  return detail::bind(signature, fn);
}

/// Rows that register themselves: a constant of a family's file. They are made at their first use.
class FunctionFamily {
 public:
  explicit FunctionFamily(std::vector<Function> (*rows)());
  FunctionFamily(const FunctionFamily&) = delete;
  FunctionFamily& operator=(const FunctionFamily&) = delete;
};

/// Every public tensor function, sorted by name. A function with overloads has a row for each.
const std::vector<Function>& all_functions();

}  // namespace axle
