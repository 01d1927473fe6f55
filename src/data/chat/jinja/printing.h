// Values as text: as templates print them, as Python's repr() shows them, and as JSON.
#pragma once

#include <optional>
#include <string>

#include "data/chat/jinja/machine.h"

namespace axle::jinja {

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

}  // namespace axle::jinja
