// Functions written as data: a function of the table, or steps that call several.
//
//   roll                                                    its operands are the arguments in order
//   {function: roll, attributes: {shift: 2, axis: 0}}
//   parameters: [x, y]
//   steps:
//     twice: {function: mul, operands: [x], attributes: {b: 2}}
//     pair: {function: sort_key_val, operands: {operands: [twice, y]}}
//   results: [pair.1, twice]                                # default: all of the last step
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "comparison/functions/function.h"
#include "transform/trace.h"

namespace axle {

/// What a user passes for an operand.
struct GivenOperand {
  /// Empty: known by its position.
  std::string name = {};
  Values values = {};
  /// True for a list of tensors, false for one tensor.
  bool is_list = false;
};

/// Calls the function `name` (also "operator+" or "random.uniform"); of several overloads, the one
/// that takes these operands and attributes. Operands without names fill the function's in order; a
/// list operand of the function also takes single tensors in a row. Throws ConfigError that says
/// how the function is called, or begins with the name of a wrong attribute.
Values call_function(const std::string& name, const std::vector<GivenOperand>& operands,
                     const nlohmann::ordered_json& attributes);

/// Returns the rows of a function of this name. Throws ConfigError if there is none, with the names
/// that are near.
std::vector<const Function*> functions_called(const std::string& name);

/// A function read from a document.
class Formula {
 public:
  /// Throws ConfigError for a document of another form and for a function that does not exist.
  explicit Formula(const nlohmann::ordered_json& document);

  /// Returns what the operand `name` takes, or the one at `position` if `name` is empty: one tensor
  /// or a list of them. None if overloads disagree. Also none for parameters of a formula with
  /// steps: these take a tensor or a list.
  std::optional<Parameter::Kind> operand_kind(const std::string& name, size_t position) const;
  /// Returns the name of one of `count` operands without names, for messages: "x", or "parts.1" for
  /// one of several that a list takes. Empty if it is not known.
  std::string operand_name(size_t position, size_t count) const;
  /// Traced. The step's name, or else the function's, is the layer path of its ops. Throws
  /// ConfigError if arguments and parameters do not fit, and as call_function does.
  Values operator()(const std::vector<GivenOperand>& arguments) const;

 private:
  struct Step {
    std::string name, function;
    nlohmann::ordered_json operands, attributes;
  };
  using Known = std::map<std::string, Values>;
  bool is_one_call() const { return steps_.size() == 1 && steps_[0].name.empty(); }
  static Step read_step(const std::string& name, const nlohmann::ordered_json& document);
  Known bind(const std::vector<GivenOperand>& arguments) const;
  // A formula that is one call has one step without a name, and no parameters.
  std::vector<Step> steps_;
  std::vector<std::string> parameters_, results_;
};

}  // namespace axle
