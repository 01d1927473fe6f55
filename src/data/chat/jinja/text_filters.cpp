// Filters that return texts.

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/text/unicode.h"
#include "data/chat/jinja/filters.h"
#include "data/chat/jinja/operators.h"
#include "data/chat/jinja/printing.h"
#include "data/chat/jinja/text_methods.h"
#include "data/chat/jinja/unicode.h"

namespace axle::jinja {
namespace {

std::string text_of(Machine& machine, const Value& value) {
  std::string out = to_text(machine, value);
  machine.budget.bytes(out.size());
  machine.budget.step(out.size() / 16);
  return out;
}

// A text made of a value: markup if that is.
Value made_of(const Value& value, std::string text) {
  return value.is_markup() ? Value::markup(std::move(text)) : Value(std::move(text));
}

template <std::string (*kMap)(std::string_view)>
Value map_case(Machine& machine, const Value& value, const Arguments& arguments) {
  Parameters(arguments, "a filter", {});
  std::string out = kMap(text_of(machine, value));
  machine.budget.bytes(out.size());
  return made_of(value, std::move(out));
}

// Words begin behind spaces, hyphens and opening brackets.
std::string title_of_words(std::string_view text) {
  std::string out;
  bool is_first = true;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t c = next_character(text, at);
    const std::string_view one = text.substr(begin, at - begin);
    const bool parts = is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
    out += is_first ? upper_text(one) : unicode_lower_case(one);
    is_first = parts;
  }
  return out;
}

Value trim(Machine& machine, const Value& value, const Arguments& arguments) {
  const Parameters parameters(arguments, "trim", {"chars"});
  const std::string text = text_of(machine, value);
  if (!parameters.has("chars") || parameters.at("chars").is_none())
    return made_of(value, std::string(stripped(text)));
  return made_of(value, std::string(stripped_of(text, parameters.text("chars"), Sides::kBoth)));
}

Value replace(Machine& machine, const Value& value, const Arguments& arguments) {
  const Parameters parameters(arguments, "replace", {"old", "new", "count"});
  const bool is_all = !parameters.has("count") || parameters.at("count").is_none();
  return replaced(machine, text_of(machine, value), text_of(machine, parameters.at("old")),
                  text_of(machine, parameters.at("new")),
                  is_all ? -1 : parameters.integer_or("count", -1));
}

Value string(Machine& machine, const Value& value, const Arguments& arguments) {
  Parameters(arguments, "string", {});
  return value.is_text() ? value : Value(text_of(machine, value));
}

Value escape(Machine& machine, const Value& value, const Arguments& arguments) {
  Parameters(arguments, "escape", {});
  return Value::markup(escaped_text(machine, value));
}

Value safe(Machine& machine, const Value& value, const Arguments& arguments) {
  Parameters(arguments, "safe", {});
  return Value::markup(text_of(machine, value));
}

Value tojson(Machine& machine, const Value& value, const Arguments& arguments) {
  const Parameters parameters(arguments, "tojson",
                              {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style{.is_ascii = parameters.flag_or("ensure_ascii", false),
                  .sorts_keys = parameters.flag_or("sort_keys", false)};
  if (const Value* const indent = parameters.find("indent"); indent && !indent->is_none()) {
    if (indent->is_integer() && indent->integer() > 1000)
      throw JinjaError("tojson: expected an indent of at most 1000, got a larger one");
    style.indent = indent->is_text() ? indent->text()
                                     : std::string(static_cast<size_t>(std::max<int64_t>(
                                                       parameters.integer_or("indent", 0), 0)),
                                                   ' ');
    style.item_separator = ",";
  }
  if (const Value* const separators = parameters.find("separators");
      separators && !separators->is_none()) {
    const std::vector<Value> both = elements_of(machine, *separators);
    if (both.size() != 2 || !both[0].is_text() || !both[1].is_text())
      throw JinjaError("tojson: expected two texts as separators, got something else");
    style.item_separator = both[0].text();
    style.key_separator = both[1].text();
  }
  return json_text(machine, value, style);
}

Value indent(Machine& machine, const Value& value, const Arguments& arguments) {
  const Parameters parameters(arguments, "indent", {"width", "first", "blank"});
  const Value* const width = parameters.find("width");
  const int64_t spaces = width && width->is_text() ? 0 : parameters.integer_or("width", 4);
  if (spaces > 10'000) throw JinjaError("indent: expected a width of at most 10000, got more");
  const std::string indention =
      width && width->is_text()
          ? width->text()
          : std::string(static_cast<size_t>(std::max<int64_t>(spaces, 0)), ' ');
  const bool indents_blank = parameters.flag_or("blank", false);
  require_defined(value);
  if (!value.is_text())
    throw JinjaError(fmt::format("indent: expected a text, got a {}", value.type_name()));
  const std::string text = text_of(machine, value) + "\n";
  const std::vector<std::string_view> lines = lines_of(text);
  const auto is_indented = [&](size_t i) { return i > 0 && (indents_blank || !lines[i].empty()); };
  std::string out = parameters.flag_or("first", false) ? indention : "";
  size_t size = out.size();
  for (size_t i = 0; i < lines.size(); ++i)
    size += lines[i].size() + 1 + (is_indented(i) ? indention.size() : 0);
  machine.budget.bytes(size);
  out.reserve(size);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += '\n';
    if (is_indented(i)) out += indention;
    out += lines[i];
  }
  return out;
}

Value center(Machine& machine, const Value& value, const Arguments& arguments) {
  const Parameters parameters(arguments, "center", {"width"});
  return centered(machine, text_of(machine, value), parameters.integer_or("width", 80), " ");
}

Value format(Machine& machine, const Value& value, const Arguments& arguments) {
  if (!arguments.positional.empty() && !arguments.named.empty())
    throw JinjaError("format: expected arguments with names or without, got both");
  const std::string text = text_of(machine, value);
  if (arguments.named.empty())
    return machine.text(percent_format(machine, text, Value::tuple(arguments.positional)));
  std::vector<std::pair<Value, Value>> items;
  for (const auto& [name, one] : arguments.named) items.emplace_back(Value(name), one);
  return machine.text(percent_format(machine, text, Value::dict(std::move(items))));
}

Value truncate(Machine& machine, const Value& value, const Arguments& arguments) {
  const Parameters parameters(arguments, "truncate", {"length", "killwords", "end", "leeway"});
  const int64_t length = parameters.integer_or("length", 255);
  const int64_t leeway = parameters.integer_or("leeway", 5);
  const std::string end = parameters.text_or("end", "...");
  const auto end_size = static_cast<int64_t>(count_characters(end));
  if (length < end_size || leeway < 0)
    throw JinjaError("truncate: expected room for the end of the text, got a smaller length");
  if (length_of(machine, value) <= saturating_sum(length, leeway)) return value;
  if (!value.is_text())
    throw JinjaError(fmt::format("truncate: expected a text, got a {}", value.type_name()));
  const std::string text = text_of(machine, value);
  std::string out = text.substr(0, byte_of_character(text, static_cast<size_t>(length - end_size)));
  if (!parameters.flag_or("killwords", false)) out = out.substr(0, out.rfind(' '));
  return machine.text(out + end);
}

Value wordcount(Machine& machine, const Value& value, const Arguments& arguments) {
  Parameters(arguments, "wordcount", {});
  const std::string text = text_of(machine, value);
  int64_t words = 0;
  bool in_word = false;
  for (size_t at = 0; at < text.size();) {
    const bool is_part = is_word_part(next_character(text, at));
    words += is_part && !in_word;
    in_word = is_part;
  }
  return words;
}

}  // namespace

std::vector<FilterRow> text_filters() {
  return {{"capitalize", map_case<capitalized_text>},
          {"center", center},
          {"e", escape},
          {"escape", escape},
          {"format", format},
          {"indent", indent},
          {"lower", map_case<unicode_lower_case>},
          {"replace", replace},
          {"safe", safe},
          {"string", string},
          {"title", map_case<title_of_words>},
          {"tojson", tojson},
          {"trim", trim},
          {"truncate", truncate},
          {"upper", map_case<upper_text>},
          {"wordcount", wordcount}};
}

}  // namespace axle::jinja
