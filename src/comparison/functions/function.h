// The public tensor functions of ops/ and transform/ as a table: each can be called by name, with
// attributes given as data. cmake/function_table.py writes it from the headers.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ir/tensor.h"

namespace axle {

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

/// Every public tensor function, sorted by name. A function with overloads has a row for each.
const std::vector<Function>& all_functions();

}  // namespace axle
