// What templates may use: operators, printing, methods of texts, filters, functions and tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/chat/jinja/machine.h"

namespace axle::jinja {

// The operators of templates, as Python has them.

/// `symbol` is one of + - * / // % **.
Value arithmetic(Machine& machine, std::string_view symbol, const Value& a, const Value& b);
/// `symbol` is - or +.
Value signed_value(std::string_view symbol, const Value& value);
/// `symbol` is one of == != < <= > >= in "not in".
bool compare(Machine& machine, std::string_view symbol, const Value& a, const Value& b);
/// Returns a number below, equal to or above 0. Throws JinjaError for values without an order.
int order_of(Machine& machine, const Value& a, const Value& b);
bool contains(Machine& machine, const Value& container, const Value& part);

/// Returns value[key]; an undefined value if there is no such element.
Value item_of(Machine& machine, const Value& value, const Value& key);
/// Returns value.name: a method or a field; an undefined value if there is none.
Value attribute_of(Machine& machine, const Value& value, std::string_view name);
/// Returns value[begin:end:step]. Parts that are null stand for the ends.
Value slice_of(Machine& machine, const Value& value, const Value& begin, const Value& end,
               const Value& step);

/// Returns a method of a text, a list or a mapping; none if its type has no such method. Throws
/// JinjaError for methods that Python has and templates may not call.
std::optional<Value> method_of(const Value& value, std::string_view name);

// Values as text: as templates print them, as Python's repr() shows them, and as JSON.

/// Python's str(): what {{ value }} prints.
std::string to_text(Machine& machine, const Value& value);
/// The same with the characters & < > " ' as entities of HTML, unless the value is markup.
std::string escaped_text(Machine& machine, const Value& value);
/// Python's repr(): texts in quotes.
std::string repr(Machine& machine, const Value& value);
std::string float_text(double number);

struct JsonStyle {
  bool is_ascii = false;
  std::optional<std::string> indent = {};  // none: on one line
  std::string item_separator = ", ", key_separator = ": ";
  bool sorts_keys = false;
};
/// Python's json.dumps(). Throws JinjaError for values that JSON does not have.
std::string json_text(Machine& machine, const Value& value, const JsonStyle& style);

/// Python's "format" % values and "format".format(...).
std::string percent_format(Machine& machine, const std::string& format, const Value& values);
std::string brace_format(Machine& machine, const std::string& format, const Arguments& arguments);

// The methods of texts, as Python's str has them.

bool is_text_method(std::string_view name);
/// True for methods of Python's str that are left out here.
bool is_unsupported_text_method(std::string_view name);
Value text_method(Machine& machine, const Value& value, std::string_view name,
                  const Arguments& arguments);

/// Returns the text with at most `most` occurrences of `old` replaced; below 0: all.
Value replaced(Machine& machine, std::string_view text, std::string_view old, std::string_view by,
               int64_t most);
/// Returns the text between spaces so that it is `width` characters long and in their middle.
std::string centered(Machine& machine, std::string_view text, int64_t width, std::string_view fill);

// The filters of templates: {{ value | name(arguments) }}.

using FilterFunction = Value (*)(Machine&, const Value&, const Arguments&);
struct FilterRow {
  std::string_view name;
  FilterFunction function;
};

/// Returns nullptr if there is no filter of this name.
FilterFunction find_filter(std::string_view name);
/// "expected a filter of chat templates, got 'x'; did you mean ..."
std::string unknown_filter(std::string_view name);

/// The rows of each family.
std::vector<FilterRow> text_filters();
std::vector<FilterRow> number_filters();
std::vector<FilterRow> sequence_filters();
std::vector<FilterRow> selection_filters();

/// Returns value[a][b] for the path "a.b"; numbers count elements. `fallback`, unless it is none,
/// stands for each part that is undefined.
Value attribute_path(Machine& machine, const Value& value, const Value& path,
                     const Value& fallback = {});

// The functions that every template may call, and the tests: {% if value is name(arguments) %}.

/// Values with fields that may be set: what namespace() returns.
class Namespace final : public Object {
 public:
  std::string_view type_name() const override { return "Namespace"; }
  std::string repr(Machine& machine) const override;
  std::optional<Value> attribute(std::string_view name) override;
  void set(std::string_view name, Value value);
  void clear() override { fields_.clear(); }

 private:
  std::vector<std::pair<std::string, Value>> fields_;
};

/// range, dict, namespace, cycler, joiner, and those that chat templates are promised:
/// raise_exception and strftime_now. The latter reads the clock unless `now_secs` (Unix time) is
/// given.
std::vector<std::pair<std::string, Value>> global_functions(std::optional<int64_t> now_secs);

using TestFunction = bool (*)(Machine&, const Value&, const Arguments&);

/// Returns nullptr if there is no test of this name.
TestFunction find_test(std::string_view name);
/// "expected a test of chat templates, got 'x'; did you mean ..."
std::string unknown_test(std::string_view name);

}  // namespace axle::jinja
