#include "comparison/functions/formula.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/text_table.h"
#include "comparison/functions/attribute_value.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

std::string with_colons(std::string name) {
  const size_t dot = name.find('.');
  if (dot != name.npos) name.replace(dot, 1, "::");
  return name;
}

bool has_parameter(const Function& f, const std::string& name, bool is_attribute) {
  return std::ranges::any_of(f.parameters, [&](const Parameter& p) {
    return p.name == name && (p.kind == Parameter::Kind::kAttribute) == is_attribute;
  });
}

// Assigns the operands to the parameters of one function, or says why they do not fit.
class OperandAssignment {
 public:
  OperandAssignment(const Function& f, const std::vector<GivenOperand>& given)
      : rows_(f.operands()), given_(given) {}

  /// Returns what is wrong, or an empty text.
  std::string fill() {
    for (const GivenOperand& operand : given_) {
      if (operand.name.empty()) continue;
      const auto it = std::ranges::find(rows_, operand.name, &Parameter::name);
      if (it == rows_.end()) return fmt::format("has no operand '{}'", operand.name);
      if ((*it)->kind == Parameter::Kind::kTensor &&
          (operand.is_list || operand.values.size() != 1))
        return fmt::format("takes one tensor for '{}'", operand.name);
      if (!values.emplace(operand.name, operand.values).second)
        return fmt::format("has '{}' twice", operand.name);
    }
    if (std::string wrong = fill_by_position(); !wrong.empty()) return wrong;
    for (const Parameter* row : rows_) {
      if (values.contains(row->name)) continue;
      if (row->kind == Parameter::Kind::kTensor)
        return fmt::format("needs the operand '{}'", row->name);
      values[row->name] = {};
    }
    return {};
  }

  std::map<std::string, Values> values;

 private:
  std::string fill_by_position() {
    std::vector<const Parameter*> open;
    for (const Parameter* row : rows_) {
      if (!values.contains(row->name)) open.push_back(row);
    }
    std::vector<const GivenOperand*> left;
    for (const GivenOperand& operand : given_) {
      if (operand.name.empty()) left.push_back(&operand);
    }
    size_t next = 0;
    for (size_t i = 0; i < open.size() && next < left.size(); ++i) {
      const GivenOperand& operand = *left[next];
      if (open[i]->kind == Parameter::Kind::kTensor) {
        if (operand.is_list) return fmt::format("takes one tensor for '{}'", open[i]->name);
        values[open[i]->name] = operand.values;
        ++next;
        continue;
      }
      if (operand.is_list) {
        values[open[i]->name] = operand.values;
        ++next;
        continue;
      }
      const size_t after = open.size() - i - 1;
      Values& list = values[open[i]->name];
      while (next < left.size() && left.size() - next > after && !left[next]->is_list)
        list.push_back(left[next++]->values[0]);
    }
    return next < left.size() ? fmt::format("takes {}", counted(std::ssize(rows_), "operand")) : "";
  }

  std::vector<const Parameter*> rows_;
  const std::vector<GivenOperand>& given_;
};

std::string misfit_of_attributes(const Function& f, const Json& attributes) {
  std::vector<std::string> known;
  for (const Parameter& p : f.parameters) {
    if (p.kind == Parameter::Kind::kAttribute) known.push_back(p.name);
  }
  for (const auto& [name, unused] : attributes.items()) {
    if (has_parameter(f, name, true)) continue;
    if (has_parameter(f, name, false))
      return fmt::format("takes a tensor for '{}', not an attribute", name);
    return fmt::format("has no attribute '{}'{}", name, suggest(name, known));
  }
  for (const Parameter& p : f.parameters) {
    if (p.kind == Parameter::Kind::kAttribute && !p.default_text && !attributes.contains(p.name))
      return fmt::format("needs the attribute '{}'", p.name);
  }
  return {};
}

Values named(const std::map<std::string, Values>& known, const std::string& reference) {
  if (const auto it = known.find(reference); it != known.end()) return it->second;
  const size_t dot = reference.rfind('.');
  const auto it = dot == reference.npos ? known.end() : known.find(reference.substr(0, dot));
  const std::string number = dot == reference.npos ? "" : reference.substr(dot + 1);
  if (it != known.end() && is_digits(number) && number.size() < 6) {
    const auto i = static_cast<size_t>(std::stoul(number));
    if (i < it->second.size()) return {it->second[i]};
    throw ConfigError(fmt::format("{}: expected one of {} results", reference, it->second.size()));
  }
  std::vector<std::string> names;
  for (const auto& [name, unused] : known) names.push_back(name);
  throw ConfigError(fmt::format("{}: no such value{} (values: {})", reference,
                                suggest(reference, names), join(names, ", ")));
}

GivenOperand operand_from(const std::map<std::string, Values>& known, const std::string& name,
                          const Json& value) {
  GivenOperand out{.name = name};
  if (value.is_array()) {
    out.is_list = true;
    for (const Json& element : value) {
      const Values part = named(known, text_of(element, "the name of a value"));
      out.values.insert(out.values.end(), part.begin(), part.end());
    }
  } else {
    out.values = named(known, text_of(value, "the name of a value, or a list of names"));
    out.is_list = out.values.size() != 1;
  }
  return out;
}

std::vector<GivenOperand> operands_from(const std::map<std::string, Values>& known,
                                        const Json& document) {
  std::vector<GivenOperand> out;
  if (document.is_object()) {
    for (const auto& [name, value] : document.items())
      out.push_back(operand_from(known, name, value));
  } else if (document.is_array()) {
    for (const Json& value : document) out.push_back(operand_from(known, "", value));
  } else if (!document.is_null()) {
    fail_value("a list or a map of operands", document);
  }
  return out;
}

// Returns the name of the step or function `name` inside of the current one.
std::string inner_scope(const std::string& name) {
  const std::string* outer = NameScope::current();
  return outer ? *outer + "/" + name : name;
}

}  // namespace

std::vector<const Function*> functions_called(const std::string& name) {
  std::vector<const Function*> out;
  std::vector<std::string> names;
  const std::string colons = with_colons(name);
  for (const Function& f : all_functions()) {
    if (f.name == colons || f.cpp_name == colons) out.push_back(&f);
    if (names.empty() || names.back() != f.name) names.push_back(f.name);  // overloads
  }
  if (!out.empty()) return out;
  // A name without its namespace: "uniform" for "random::uniform".
  std::vector<std::string> endings;
  std::ranges::copy_if(names, std::back_inserter(endings),
                       [&](const std::string& full) { return full.ends_with("::" + colons); });
  const std::string near =
      endings.empty() ? suggest(colons, names) : fmt::format("; did you mean '{}'?", endings[0]);
  throw ConfigError(
      fmt::format("{}: no such function{}; axle eval-op --list prints all", name, near));
}

Values call_function(const std::string& name, const std::vector<GivenOperand>& operands,
                     const Json& attributes) {
  const std::vector<const Function*> rows = functions_called(name);
  std::string misfit;
  for (const Function* f : rows) {
    OperandAssignment assignment(*f, operands);
    misfit = assignment.fill();
    if (misfit.empty()) misfit = misfit_of_attributes(*f, attributes);
    if (misfit.empty()) return f->run({std::move(assignment.values), attributes});
  }
  std::vector<std::string> texts;
  for (const Function* f : rows) texts.push_back(f->text());
  if (rows.size() > 1) misfit = "has no overload for these operands and attributes";
  throw ConfigError(fmt::format("{} {}; expected {}", name, misfit, join(texts, " or ")));
}

Formula::Step Formula::read_step(const std::string& name, const Json& document) {
  if (document.is_string()) {
    functions_called(document.get<std::string>());
    return {name, document.get<std::string>(), {}, Json::object()};
  }
  if (!document.is_object())
    fail_value("{function: NAME, operands: ..., attributes: ...}", document);
  check_keys(document, {"function", "operands", "attributes"});
  if (!document.contains("function")) throw ConfigError("expected function: NAME, got none");
  Step out{name, text_of(document["function"], "the name of a function"),
           document.value("operands", Json()), document.value("attributes", Json::object())};
  if (out.attributes.is_null()) out.attributes = Json::object();
  if (!out.attributes.is_object()) fail_value("attributes: {NAME: VALUE}", out.attributes);
  functions_called(out.function);
  return out;
}

Formula::Formula(const Json& document) {
  if (!document.is_object() || !document.contains("steps")) {
    steps_.push_back(read_step("", document));
    return;
  }
  check_keys(document, {"parameters", "steps", "results"});
  const auto names = [&](const char* key) {
    return document.contains(key) ? attribute_from<std::vector<std::string>>(document[key])
                                  : std::vector<std::string>();
  };
  parameters_ = names("parameters");
  results_ = names("results");
  for (const std::string& name : parameters_) {
    if (std::ranges::count(parameters_, name) > 1)
      throw ConfigError(fmt::format("parameters: expected each name once, got '{}' twice", name));
  }
  // Without steps, the results are parameters.
  if (!document["steps"].is_object() || (document["steps"].empty() && results_.empty()))
    fail_value("steps: {NAME: {function: ...}}", document["steps"]);
  for (const auto& [name, step] : document["steps"].items()) {
    try {
      if (std::ranges::count(parameters_, name))
        throw ConfigError("expected another name than that of a parameter");
      steps_.push_back(read_step(name, step));
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("steps.{}: {}", name, error.what()));
    }
  }
}

Formula::Known Formula::bind(const std::vector<GivenOperand>& arguments) const {
  Known known;
  size_t position = 0;
  for (const GivenOperand& argument : arguments) {
    std::string name = argument.name;
    if (name.empty()) {
      if (position == parameters_.size())
        throw ConfigError(fmt::format("expected {} arguments ({}), got {}", parameters_.size(),
                                      join(parameters_, ", "), arguments.size()));
      name = parameters_[position++];
    }
    if (!std::ranges::count(parameters_, name))
      throw ConfigError(fmt::format("{}: no such parameter{} (parameters: {})", name,
                                    suggest(name, parameters_), join(parameters_, ", ")));
    known[name] = argument.values;
  }
  for (const std::string& name : parameters_) {
    if (!known.contains(name))
      throw ConfigError(fmt::format("{}: expected an argument, got none", name));
  }
  return known;
}

std::optional<Parameter::Kind> Formula::operand_kind(const std::string& name,
                                                     size_t position) const {
  if (!is_one_call()) return std::nullopt;
  std::optional<Parameter::Kind> out;
  for (const Function* f : functions_called(steps_[0].function)) {
    const std::vector<const Parameter*> operands = f->operands();
    auto it = std::ranges::find(operands, name, &Parameter::name);
    if (name.empty()) {
      // A list takes any number of tensors in a row, so that later positions are not known.
      const auto list = std::ranges::find(operands, Parameter::Kind::kTensors, &Parameter::kind);
      if (list < operands.end() && list - operands.begin() < static_cast<ptrdiff_t>(position))
        return std::nullopt;
      it = operands.begin() + static_cast<ptrdiff_t>(std::min(position, operands.size()));
    }
    if (it == operands.end()) continue;
    if (out && *out != (*it)->kind) return std::nullopt;
    out = (*it)->kind;
  }
  return out;
}

std::string Formula::operand_name(size_t position, size_t count) const {
  if (!is_one_call()) return position < parameters_.size() ? parameters_[position] : "";
  for (const Function* f : functions_called(steps_[0].function)) {
    const std::vector<const Parameter*> operands = f->operands();
    const auto list = std::ranges::find(operands, Parameter::Kind::kTensors, &Parameter::kind);
    const auto first = static_cast<size_t>(list - operands.begin());
    if (position < operands.size() && (position < first || count == operands.size()))
      return operands[position]->name;
    if (position >= first && first + 1 == operands.size())
      return fmt::format("{}.{}", (*list)->name, position - first);
  }
  return "";
}

Values Formula::operator()(const std::vector<GivenOperand>& arguments) const {
  const CallSiteScope calls(no_calls());
  if (is_one_call()) {
    const NameScope scope(inner_scope(steps_[0].function));
    return call_function(steps_[0].function, arguments, steps_[0].attributes);
  }
  Known known = bind(arguments);
  for (const Step& step : steps_) {
    const NameScope scope(inner_scope(step.name));
    try {
      known[step.name] =
          call_function(step.function, operands_from(known, step.operands), step.attributes);
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("steps.{}: {}", step.name, error.what()));
    }
  }
  if (results_.empty()) return known.at(steps_.back().name);
  Values out;
  for (const std::string& result : results_) {
    const Values part = named(known, result);
    out.insert(out.end(), part.begin(), part.end());
  }
  return out;
}

}  // namespace axle
