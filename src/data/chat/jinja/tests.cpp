#include "data/chat/jinja/tests.h"

#include <fmt/format.h>

#include <map>

#include "base/text/text.h"
#include "data/chat/jinja/filters.h"
#include "data/chat/jinja/operators.h"
#include "data/chat/jinja/printing.h"
#include "data/chat/jinja/unicode.h"

namespace axle::jinja {
namespace {

void expect_none(const Arguments& arguments) { Parameters(arguments, "a test", {}); }

// A test that looks at the value alone.
template <bool (*kTest)(const Value&)>
bool plain(Machine&, const Value& value, const Arguments& arguments) {
  expect_none(arguments);
  return kTest(value);
}

const Value& other_of(const Arguments& arguments) {
  if (arguments.positional.size() != 1 || !arguments.named.empty())
    throw JinjaError("a test: expected one argument, got another number");
  return arguments.positional[0];
}

struct Symbol {
  char text[7];
};
template <Symbol kSymbol>
bool compared(Machine& machine, const Value& value, const Arguments& arguments) {
  return compare(machine, kSymbol.text, value, other_of(arguments));
}

int64_t whole_modulo(Machine& machine, const Value& value, int64_t divisor) {
  const Value rest = arithmetic(machine, "%", value, Value(divisor));
  return rest.is_float() ? (rest.number() == 0 ? 0 : rest.number() == 1 ? 1 : 2) : rest.integer();
}
bool is_even(Machine& machine, const Value& value, const Arguments& arguments) {
  expect_none(arguments);
  return whole_modulo(machine, value, 2) == 0;
}
bool is_odd(Machine& machine, const Value& value, const Arguments& arguments) {
  expect_none(arguments);
  return whole_modulo(machine, value, 2) == 1;
}
bool is_divisible(Machine& machine, const Value& value, const Arguments& arguments) {
  const Value rest = arithmetic(machine, "%", value, other_of(arguments));
  return rest.number() == 0;
}

bool is_defined(const Value& value) { return !value.is_undefined(); }
bool is_undefined(const Value& value) { return value.is_undefined(); }
bool is_none(const Value& value) { return value.is_none(); }
bool is_boolean(const Value& value) { return value.is_bool(); }
bool is_true(const Value& value) { return value.is_bool() && value.boolean(); }
bool is_false(const Value& value) { return value.is_bool() && !value.boolean(); }
bool is_integer(const Value& value) { return value.is_integer() && !value.is_bool(); }
bool is_float(const Value& value) { return value.is_float(); }
bool is_number(const Value& value) { return value.is_number(); }
bool is_string(const Value& value) { return value.is_text(); }
bool is_mapping(const Value& value) { return value.is_dict(); }
bool is_sequence(const Value& value) {
  return value.is_undefined() || value.is_text() || value.is_list() || value.is_dict() ||
         (value.is_object() && value.object()->is_sequence());
}
bool is_callable(const Value& value) {
  return value.is_undefined() || (value.is_object() && value.object()->is_callable());
}

template <bool (*kIsOne)(char32_t), bool (*kIsOther)(char32_t)>
bool is_text_of_case(Machine& machine, const Value& value, const Arguments& arguments) {
  expect_none(arguments);
  const std::string text = to_text(machine, value);
  machine.budget.step(text.size() / 8);
  return is_of_case<kIsOne, kIsOther>(text);
}

bool is_same(Machine&, const Value& value, const Arguments& arguments) {
  return value.is_same(other_of(arguments));
}
bool is_in(Machine& machine, const Value& value, const Arguments& arguments) {
  return contains(machine, other_of(arguments), value);
}
bool is_filter(Machine& machine, const Value& value, const Arguments& arguments) {
  expect_none(arguments);
  return find_filter(to_text(machine, value)) != nullptr;
}
bool is_test(Machine& machine, const Value& value, const Arguments& arguments) {
  expect_none(arguments);
  return find_test(to_text(machine, value)) != nullptr;
}

const std::map<std::string_view, TestFunction>& all_tests() {
  static const std::map<std::string_view, TestFunction> kTests = {
      {"!=", compared<Symbol{"!="}>},
      {"<", compared<Symbol{"<"}>},
      {"<=", compared<Symbol{"<="}>},
      {"==", compared<Symbol{"=="}>},
      {">", compared<Symbol{">"}>},
      {">=", compared<Symbol{">="}>},
      {"boolean", plain<is_boolean>},
      {"callable", plain<is_callable>},
      {"defined", plain<is_defined>},
      {"divisibleby", is_divisible},
      {"eq", compared<Symbol{"=="}>},
      {"equalto", compared<Symbol{"=="}>},
      {"even", is_even},
      {"false", plain<is_false>},
      {"filter", is_filter},
      {"float", plain<is_float>},
      {"ge", compared<Symbol{">="}>},
      {"greaterthan", compared<Symbol{">"}>},
      {"gt", compared<Symbol{">"}>},
      {"in", is_in},
      {"integer", plain<is_integer>},
      {"iterable", plain<is_iterable>},
      {"le", compared<Symbol{"<="}>},
      {"lessthan", compared<Symbol{"<"}>},
      {"lower", is_text_of_case<is_lower, is_upper>},
      {"lt", compared<Symbol{"<"}>},
      {"mapping", plain<is_mapping>},
      {"ne", compared<Symbol{"!="}>},
      {"none", plain<is_none>},
      {"number", plain<is_number>},
      {"odd", is_odd},
      {"sameas", is_same},
      {"sequence", plain<is_sequence>},
      {"string", plain<is_string>},
      {"test", is_test},
      {"true", plain<is_true>},
      {"undefined", plain<is_undefined>},
      {"upper", is_text_of_case<is_upper, is_lower>},
  };
  return kTests;
}

}  // namespace

TestFunction find_test(std::string_view name) {
  const auto at = all_tests().find(name);
  return at == all_tests().end() ? nullptr : at->second;
}

std::string unknown_test(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& [one, function] : all_tests()) names.emplace_back(one);
  return fmt::format("expected a test of chat templates, got '{}'{}", name, suggest(name, names));
}

}  // namespace axle::jinja
