#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/lists.h"
#include "data/chat/jinja/builtins.h"
#include "data/chat/jinja/unicode.h"

namespace axle::jinja {
namespace {

[[noreturn]] void fail_types(std::string_view symbol, const Value& a, const Value& b) {
  throw JinjaError(fmt::format("expected values that '{}' takes, got types {} and {}", symbol,
                               a.type_name(), b.type_name()));
}
[[noreturn]] void fail_large() {
  throw JinjaError("expected integers of 64 bits, got a larger one");
}

int64_t floor_quotient(int64_t a, int64_t b) {
  if (a == INT64_MIN && b == -1) fail_large();
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

int64_t integer_power(int64_t base, int64_t exponent) {
  int64_t out = 1;
  while (true) {
    if (exponent & 1) {
      const auto product = checked_product(out, base);
      if (!product) fail_large();
      out = *product;
    }
    exponent >>= 1;
    if (exponent == 0) return out;
    const auto square = checked_product(base, base);
    if (!square) fail_large();
    base = *square;
  }
}

double float_modulo(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
  return rest == 0 ? std::copysign(0.0, b) : rest;
}

Value of_integers(char symbol, int64_t a, int64_t b) {
  int64_t out = 0;
  if (symbol == '+'   ? __builtin_add_overflow(a, b, &out)
      : symbol == '-' ? __builtin_sub_overflow(a, b, &out)
                      : __builtin_mul_overflow(a, b, &out))
    fail_large();
  return out;
}

Value of_numbers(std::string_view symbol, const Value& a, const Value& b) {
  const bool are_integers = a.is_integer() && b.is_integer();
  if ((symbol == "/" || symbol == "//" || symbol == "%") && b.number() == 0)
    throw JinjaError("expected a divisor, got zero");
  if (symbol == "/") return a.number() / b.number();
  if (symbol == "//") {
    if (are_integers) return floor_quotient(a.integer(), b.integer());
    return std::floor((a.number() - float_modulo(a.number(), b.number())) / b.number() + 0.5);
  }
  if (symbol == "%") {
    if (!are_integers) return float_modulo(a.number(), b.number());
    if (b.integer() == -1) return 0;
    return a.integer() - floor_quotient(a.integer(), b.integer()) * b.integer();
  }
  if (symbol == "**") {
    if (are_integers && b.integer() >= 0) return integer_power(a.integer(), b.integer());
    if (a.number() == 0 && b.number() < 0)
      throw JinjaError("expected a base other than zero for a negative power, got zero");
    const double out = std::pow(a.number(), b.number());
    if (std::isnan(out) && !std::isnan(a.number()) && !std::isnan(b.number()))
      throw JinjaError("expected a power that is a real number, got a complex one");
    return out;
  }
  if (are_integers) return of_integers(symbol[0], a.integer(), b.integer());
  const double x = a.number(), y = b.number();
  return symbol == "+" ? x + y : symbol == "-" ? x - y : x * y;
}

Value repeated(Machine& machine, const Value& value, int64_t times) {
  const auto count = static_cast<size_t>(std::max<int64_t>(times, 0));
  const size_t size =
      value.is_text() ? value.text().size() : value.list().elements.size() * sizeof(Value);
  machine.budget.bytes(static_cast<size_t>(
      saturating_product(static_cast<int64_t>(count), static_cast<int64_t>(size))));
  if (value.is_text()) {
    std::string out;
    out.reserve(size * count);
    for (size_t i = 0; i < (size ? count : 0); ++i) out += value.text();
    return value.is_markup() ? Value::markup(std::move(out)) : Value(std::move(out));
  }
  std::vector<Value> out;
  for (size_t i = 0; i < (size ? count : 0); ++i)
    out.insert(out.end(), value.list().elements.begin(), value.list().elements.end());
  return Value::list(std::move(out), value.list().kind);
}

}  // namespace

Value arithmetic(Machine& machine, std::string_view symbol, const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return of_numbers(symbol, a, b);
  if (symbol == "%" && a.is_text()) return percent_format(machine, a.text(), b);
  require_defined(a);
  require_defined(b);
  if (symbol == "+" && a.is_text() && b.is_text()) {
    machine.budget.bytes(a.text().size() + b.text().size());
    if (a.is_markup() || b.is_markup())
      return Value::markup(escaped_text(machine, a) + escaped_text(machine, b));
    return a.text() + b.text();
  }
  if (symbol == "+" && a.is_list() && b.is_list() && a.list().kind == b.list().kind) {
    std::vector<Value> out = elements_of(machine, a);
    const std::vector<Value> rest = elements_of(machine, b);
    out.insert(out.end(), rest.begin(), rest.end());
    return Value::list(std::move(out), a.list().kind);
  }
  if (symbol == "*") {
    if ((a.is_text() || a.is_list()) && b.is_integer()) return repeated(machine, a, b.integer());
    if ((b.is_text() || b.is_list()) && a.is_integer()) return repeated(machine, b, a.integer());
  }
  fail_types(symbol, a, b);
}

Value signed_value(std::string_view symbol, const Value& value) {
  require_defined(value);
  if (!value.is_number()) {
    throw JinjaError(fmt::format("expected a number behind '{}', got a value of type {}", symbol,
                                 value.type_name()));
  }
  if (value.is_float()) return symbol == "-" ? -value.number() : value.number();
  return symbol == "-" ? of_integers('-', 0, value.integer()) : Value(value.integer());
}

int order_of(Machine& machine, const Value& a, const Value& b) {
  machine.budget.step();
  if (a.is_integer() && b.is_integer())
    return a.integer() < b.integer() ? -1 : a.integer() > b.integer();
  if (a.is_number() && b.is_number()) return a.number() < b.number() ? -1 : a.number() > b.number();
  if (a.is_text() && b.is_text()) {
    machine.budget.step(std::min(a.text().size(), b.text().size()) / 64);
    const int order = a.text().compare(b.text());
    return order < 0 ? -1 : order > 0;
  }
  if (a.is_list() && b.is_list() && a.list().kind == b.list().kind) {
    const Budget::Level level(machine.budget);
    const auto& x = a.list().elements;
    const auto& y = b.list().elements;
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      if (!equals(x[i], y[i], machine.budget)) return order_of(machine, x[i], y[i]);
    }
    return x.size() < y.size() ? -1 : x.size() > y.size();
  }
  require_defined(a);
  require_defined(b);
  fail_types("<", a, b);
}

bool contains(Machine& machine, const Value& container, const Value& part) {
  if (container.is_text()) {
    require_defined(part);
    if (!part.is_text()) fail_types("in", part, container);
    machine.budget.step(container.text().size() / 64);
    return find_text(container.text(), part.text()) != std::string::npos;
  }
  if (container.is_dict()) {
    check_hashable(part);
    return find_key(container.dict(), part, machine.budget).has_value();
  }
  if (!is_iterable(container)) fail_types("in", part, container);
  const std::vector<Value> elements = elements_of(machine, container);
  return std::ranges::any_of(elements,
                             [&](const Value& one) { return equals(one, part, machine.budget); });
}

bool compare(Machine& machine, std::string_view symbol, const Value& a, const Value& b) {
  if (symbol == "==") return equals(a, b, machine.budget);
  if (symbol == "!=") return !equals(a, b, machine.budget);
  if (symbol == "in") return contains(machine, b, a);
  if (symbol == "not in") return !contains(machine, b, a);
  if (a.is_number() && b.is_number() && (std::isnan(a.number()) || std::isnan(b.number())))
    return false;
  const int order = order_of(machine, a, b);
  if (symbol == "<") return order < 0;
  if (symbol == "<=") return order <= 0;
  return symbol == ">" ? order > 0 : order >= 0;
}

namespace {

// Returns the index of an element that may be counted from the end; none beyond the ends.
std::optional<size_t> place_of(int64_t index, int64_t size) {
  if (index < 0) index += size;
  return index >= 0 && index < size ? std::optional(static_cast<size_t>(index)) : std::nullopt;
}

Value no_item(const Value& value, const Value& key) {
  if (key.is_text())
    return Value::undefined(
        fmt::format("'{} object' has no attribute '{}'", value.type_name(), key.text()));
  if (key.is_integer())
    return Value::undefined(
        fmt::format("'{}' has no element {}", value.type_name(), key.integer()));
  return Value::undefined(fmt::format("'{}' has no element of this key", value.type_name()));
}

std::optional<Value> element_of(Machine& machine, const Value& value, const Value& key) {
  if (value.is_dict()) {
    if (key.is_text()) machine.budget.step(value.dict().items.size() / 8);
    const auto at = find_key(value.dict(), key, machine.budget);
    return at ? std::optional(value.dict().items[*at].second) : std::nullopt;
  }
  if (!key.is_integer()) return std::nullopt;
  if (value.is_list()) {
    const auto at = place_of(key.integer(), std::ssize(value.list().elements));
    return at ? std::optional(value.list().elements[*at]) : std::nullopt;
  }
  if (value.is_text()) {
    const std::string& text = value.text();
    machine.budget.step(text.size() / 64);
    const auto at = place_of(key.integer(), static_cast<int64_t>(count_characters(text)));
    if (!at) return std::nullopt;
    const size_t begin = byte_of_character(text, *at);
    return Value(text.substr(begin, character_bytes(std::string_view(text).substr(begin))));
  }
  if (value.is_object() && value.object()->is_sequence()) {
    const std::vector<Value> elements = elements_of(machine, value);
    const auto at = place_of(key.integer(), std::ssize(elements));
    return at ? std::optional(elements[*at]) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<Value> method_or_field(const Value& value, std::string_view name) {
  return value.is_object() ? value.object()->attribute(name) : method_of(value, name);
}

}  // namespace

Value item_of(Machine& machine, const Value& value, const Value& key) {
  require_defined(value);
  if (auto element = element_of(machine, value, key)) return *std::move(element);
  if (key.is_text()) {
    if (auto method = method_or_field(value, key.text())) return *std::move(method);
  }
  return no_item(value, key);
}

Value attribute_of(Machine& machine, const Value& value, std::string_view name) {
  require_defined(value);
  if (auto method = method_or_field(value, name)) return *std::move(method);
  if (value.is_dict()) {
    machine.budget.step(value.dict().items.size() / 8);
    if (const Value* const field = find_text_key(value.dict(), name)) return *field;
  }
  return no_item(value, Value(name));
}

namespace {

std::optional<int64_t> bound_of(const Value& value) {
  if (value.is_none()) return std::nullopt;
  require_defined(value);
  if (!value.is_integer()) {
    throw JinjaError(fmt::format("expected integers as the ends of a slice, got a value of type {}",
                                 value.type_name()));
  }
  return value.integer();
}

// The indices of a slice, as Python counts them.
std::vector<size_t> places_of(int64_t size, const Value& begin, const Value& end,
                              const Value& step_value) {
  const int64_t step = bound_of(step_value).value_or(1);
  if (step == 0) throw JinjaError("expected a step of a slice, got 0");
  const int64_t least = step > 0 ? 0 : -1, most = step > 0 ? size : size - 1;
  const auto clamped = [&](std::optional<int64_t> bound, int64_t fallback) {
    if (!bound) return fallback;
    return std::clamp(*bound < 0 ? *bound + size : *bound, least, most);
  };
  const int64_t from = clamped(bound_of(begin), step > 0 ? least : most);
  const int64_t to = clamped(bound_of(end), step > 0 ? most : least);
  std::vector<size_t> out;
  if (step > 0) {
    for (int64_t i = from; i < to; i = saturating_sum(i, step))
      out.push_back(static_cast<size_t>(i));
  } else {
    for (int64_t i = from; i > to;) {
      out.push_back(static_cast<size_t>(i));
      if (__builtin_add_overflow(i, step, &i)) break;
    }
  }
  return out;
}

}  // namespace

Value slice_of(Machine& machine, const Value& value, const Value& begin, const Value& end,
               const Value& step) {
  require_defined(value);
  const bool is_sequence = value.is_object() && value.object()->is_sequence();
  if (!value.is_text() && !value.is_list() && !is_sequence) {
    throw JinjaError(fmt::format("expected a text or a list for a slice, got a value of type {}",
                                 value.type_name()));
  }
  if (value.is_text()) {
    const std::string& text = value.text();
    machine.budget.bytes(text.size());
    machine.budget.step(text.size() / 64);
    const bool is_simple = step.is_none() || (step.is_integer() && step.integer() == 1);
    const auto size = static_cast<int64_t>(count_characters(text));
    if (is_simple) {
      // No list of indices: the text may be long.
      const auto clamped = [&](std::optional<int64_t> bound, int64_t fallback) {
        const int64_t at = bound.value_or(fallback);
        return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
      };
      const auto from = static_cast<size_t>(clamped(bound_of(begin), 0));
      const auto to = static_cast<size_t>(clamped(bound_of(end), size));
      if (from >= to) return std::string();
      const size_t at = byte_of_character(text, from);
      return text.substr(at, byte_of_character(std::string_view(text).substr(at), to - from));
    }
    machine.budget.bytes(text.size() * 32);
    const auto characters = characters_of(text);
    std::string out;
    for (const size_t i : places_of(size, begin, end, step)) out += characters[i];
    return out;
  }
  const std::vector<Value> elements = elements_of(machine, value);
  std::vector<Value> out;
  for (const size_t i : places_of(std::ssize(elements), begin, end, step))
    out.push_back(elements[i]);
  return Value::list(std::move(out), value.is_list() ? value.list().kind : ListKind::kList);
}

}  // namespace axle::jinja
