// Filters of lists, mappings and other iterables.

#include <fmt/format.h>

#include <algorithm>

#include "base/text/text.h"
#include "base/text/unicode.h"
#include "data/chat/jinja/attribute_path.h"
#include "data/chat/jinja/filters.h"
#include "data/chat/jinja/operators.h"
#include "data/chat/jinja/printing.h"
#include "data/chat/jinja/unicode.h"

namespace axle::jinja {
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
      row.resize(static_cast<size_t>(size), *fill);
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
