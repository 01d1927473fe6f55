// Filters that return texts.
#include <fmt/format.h>

#include <algorithm>

#include "base/lists.h"
#include "base/text/text.h"
#include "base/text/unicode.h"
#include "data/chat/jinja/builtins.h"
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

// Filters of lists, mappings and other iterables.

namespace {

Value fallback(Machine&, const Value& value, const Arguments& arguments) {
  const Parameters parameters(arguments, "default", {"default_value", "boolean"});
  const bool is_replaced =
      value.is_undefined() || (parameters.flag_or("boolean", false) && !value.is_true());
  if (!is_replaced) return value;
  return parameters.has("default_value") ? parameters.at("default_value") : Value("");
}

Value first(Machine& machine, const Value& value, const Arguments& arguments) {
  Parameters(arguments, "first", {});
  const Value none = Value::undefined("No first item, sequence was empty.");
  if (auto* const iterator = value.as<Iterator>()) return iterator->take_one().value_or(none);
  const std::vector<Value> elements = elements_of(machine, value);
  return elements.empty() ? none : elements.front();
}

Value last(Machine& machine, const Value& value, const Arguments& arguments) {
  Parameters(arguments, "last", {});
  if (value.as<Iterator>())
    throw JinjaError("last: expected a list, got a generator; put `| list` before it");
  const std::vector<Value> elements = elements_of(machine, value);
  return elements.empty() ? Value::undefined("No last item, sequence was empty.") : elements.back();
}

Value join(Machine& machine, const Value& value, const Arguments& arguments) {
  const Parameters parameters(arguments, "join", {"d", "attribute"});
  const std::string separator = parameters.has("d") ? to_text(machine, parameters.at("d")) : "";
  std::string out;
  bool is_first = true;
  for (const Value& element : elements_of(machine, value)) {
    const bool has_path = parameters.has("attribute") && !parameters.at("attribute").is_none();
    const std::string text = to_text(
        machine, has_path ? attribute_path(machine, element, parameters.at("attribute")) : element);
    machine.budget.bytes(text.size() + separator.size());
    machine.budget.check_bytes(out.size() + text.size() + separator.size());
    if (!std::exchange(is_first, false)) out += separator;
    out += text;
  }
  return out;
}

Value list(Machine& machine, const Value& value, const Arguments& arguments) {
  Parameters(arguments, "list", {});
  return Value::list(elements_of(machine, value));
}

Value items(Machine& machine, const Value& value, const Arguments& arguments) {
  Parameters(arguments, "items", {});
  std::vector<Value> out;
  if (!value.is_undefined()) {
    if (!value.is_dict()) {
      throw JinjaError(
          fmt::format("items: expected a mapping, got a value of type {}", value.type_name()));
    }
    machine.budget.step(value.dict().items.size());
    for (const auto& [key, one] : value.dict().items) out.push_back(Value::tuple({key, one}));
  }
  return iterator_of(machine, std::move(out));
}

// Texts are compared without their case unless it matters.
Value sort_key(Machine& machine, const Value& value, bool is_case_sensitive) {
  if (is_case_sensitive || !value.is_text()) return value;
  return machine.text(unicode_lower_case(value.text()));
}

template <class Key>
void sort_by(Machine& machine, std::vector<Value>& elements, bool is_reverse, const Key& key) {
  machine.budget.bytes(elements.size() * (2 * sizeof(Value) + sizeof(size_t)));
  std::vector<Value> keys, out;
  std::vector<size_t> order;
  for (const Value& element : elements) {
    order.push_back(keys.size());
    keys.push_back(key(element));
  }
  // Equal elements keep their order in both directions.
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    return is_reverse ? order_of(machine, keys[b], keys[a]) < 0
                      : order_of(machine, keys[a], keys[b]) < 0;
  });
  for (const size_t i : order) out.push_back(elements[i]);
  elements = std::move(out);
}

Value sort(Machine& machine, const Value& value, const Arguments& arguments) {
  const Parameters parameters(arguments, "sort", {"reverse", "case_sensitive", "attribute"});
  const bool is_case_sensitive = parameters.flag_or("case_sensitive", false);
  std::vector<Value> elements = elements_of(machine, value);
  const Value path = parameters.has("attribute") ? parameters.at("attribute") : Value();
  sort_by(machine, elements, parameters.flag_or("reverse", false), [&](const Value& element) {
    if (path.is_none()) return sort_key(machine, element, is_case_sensitive);
    if (!path.is_text())
      return sort_key(machine, attribute_path(machine, element, path), is_case_sensitive);
    std::vector<Value> keys;  // of several paths: "a,b"
    for (const std::string_view one : split(path.text(), ','))
      keys.push_back(
          sort_key(machine, attribute_path(machine, element, Value(one)), is_case_sensitive));
    return Value::list(std::move(keys));
  });
  return Value::list(std::move(elements));
}

Value dictsort(Machine& machine, const Value& value, const Arguments& arguments) {
  const Parameters parameters(arguments, "dictsort", {"case_sensitive", "by", "reverse"});
  const std::string by = parameters.text_or("by", "key");
  if (by != "key" && by != "value")
    throw JinjaError(fmt::format("dictsort: expected to sort by key or value, got '{}'", by));
  require_defined(value);
  if (!value.is_dict())
    throw JinjaError(fmt::format("dictsort: expected a mapping, got a {}", value.type_name()));
  std::vector<Value> out;
  for (const auto& [key, one] : value.dict().items) out.push_back(Value::tuple({key, one}));
  const size_t place = by == "value" ? 1 : 0;
  sort_by(machine, out, parameters.flag_or("reverse", false), [&](const Value& item) {
    return sort_key(machine, item.list().elements[place],
                    parameters.flag_or("case_sensitive", false));
  });
  return Value::list(std::move(out));
}

Value unique(Machine& machine, const Value& value, const Arguments& arguments) {
  const Parameters parameters(arguments, "unique", {"case_sensitive", "attribute"});
  std::vector<Value> seen, out;
  for (const Value& element : elements_of(machine, value)) {
    const bool has_path = parameters.has("attribute") && !parameters.at("attribute").is_none();
    const Value key = sort_key(
        machine, has_path ? attribute_path(machine, element, parameters.at("attribute")) : element,
        parameters.flag_or("case_sensitive", false));
    check_hashable(key);
    const auto is_it = [&](const Value& one) { return equals(one, key, machine.budget); };
    if (std::ranges::any_of(seen, is_it)) continue;
    seen.push_back(key);
    out.push_back(element);
  }
  return iterator_of(machine, std::move(out));
}

Value reverse(Machine& machine, const Value& value, const Arguments& arguments) {
  Parameters(arguments, "reverse", {});
  std::vector<Value> elements = elements_of(machine, value);
  std::ranges::reverse(elements);
  if (!value.is_text()) return iterator_of(machine, std::move(elements));
  std::string out;
  for (const Value& character : elements) out += character.text();
  return machine.text(std::move(out));
}

template <bool kIsMax>
Value extreme(Machine& machine, const Value& value, const Arguments& arguments) {
  const Parameters parameters(arguments, kIsMax ? "max" : "min", {"case_sensitive", "attribute"});
  std::optional<Value> best, best_key;
  for (const Value& element : elements_of(machine, value)) {
    const bool has_path = parameters.has("attribute") && !parameters.at("attribute").is_none();
    const Value key = sort_key(
        machine, has_path ? attribute_path(machine, element, parameters.at("attribute")) : element,
        parameters.flag_or("case_sensitive", false));
    const int order = best_key ? order_of(machine, key, *best_key) : 0;
    if (best_key && (kIsMax ? order <= 0 : order >= 0)) continue;
    best = element;
    best_key = key;
  }
  return best ? *best : Value::undefined("No aggregated item, sequence was empty.");
}

Value sum(Machine& machine, const Value& value, const Arguments& arguments) {
  const Parameters parameters(arguments, "sum", {"attribute", "start"});
  Value out = parameters.has("start") ? parameters.at("start") : Value(0);
  if (out.is_text()) throw JinjaError("sum: expected numbers, got a text; use join for texts");
  for (const Value& element : elements_of(machine, value)) {
    const bool has_path = parameters.has("attribute") && !parameters.at("attribute").is_none();
    out = arithmetic(
        machine, "+", out,
        has_path ? attribute_path(machine, element, parameters.at("attribute")) : element);
  }
  return out;
}

Value batch(Machine& machine, const Value& value, const Arguments& arguments) {
  const Parameters parameters(arguments, "batch", {"linecount", "fill_with"});
  parameters.at("linecount");
  const int64_t size = parameters.integer_or("linecount", 1);
  if (size < 1 || size > kMaxRange)
    throw JinjaError(fmt::format("batch: expected a size of 1 to {}, got {}", kMaxRange, size));
  const std::vector<Value> elements = elements_of(machine, value);
  const Value* const fill = parameters.find("fill_with");
  std::vector<Value> out;
  for (auto at = elements.begin(); at != elements.end();) {
    const auto end = at + std::min<int64_t>(size, elements.end() - at);
    std::vector<Value> row(at, end);
    if (fill && !fill->is_none()) {
      machine.budget.bytes(static_cast<size_t>(size) * sizeof(Value));
      row.resize(size, *fill);
    }
    out.push_back(Value::list(std::move(row)));
    at = end;
  }
  return iterator_of(machine, std::move(out));
}

Value slice(Machine& machine, const Value& value, const Arguments& arguments) {
  const Parameters parameters(arguments, "slice", {"slices", "fill_with"});
  parameters.at("slices");
  const int64_t count = parameters.integer_or("slices", 1);
  if (count < 1 || count > kMaxRange)
    throw JinjaError(fmt::format("slice: expected 1 to {} parts, got {}", kMaxRange, count));
  const std::vector<Value> elements = elements_of(machine, value);
  const Value* const fill = parameters.find("fill_with");
  const int64_t each = std::ssize(elements) / count, larger = std::ssize(elements) % count;
  std::vector<Value> out;
  auto at = elements.begin();
  for (int64_t i = 0; i < count; ++i) {
    const auto end = at + each + (i < larger ? 1 : 0);
    std::vector<Value> part(at, end);
    if (fill && !fill->is_none() && i >= larger) part.push_back(*fill);
    out.push_back(Value::list(std::move(part)));
    at = end;
  }
  return iterator_of(machine, std::move(out));
}

}  // namespace

std::vector<FilterRow> sequence_filters() {
  return {{"batch", batch},       {"d", fallback},         {"default", fallback},
          {"dictsort", dictsort}, {"first", first},        {"items", items},
          {"join", join},         {"last", last},          {"list", list},
          {"max", extreme<true>}, {"min", extreme<false>}, {"reverse", reverse},
          {"slice", slice},       {"sort", sort},          {"sum", sum},
          {"unique", unique}};
}

}  // namespace axle::jinja
