#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>

#include "base/text/text.h"
#include "data/chat/jinja/builtins.h"
#include "data/chat/jinja/unicode.h"

namespace axle::jinja {
namespace {

const std::map<std::string_view, FilterFunction>& all_filters() {
  static const std::map<std::string_view, FilterFunction> kFilters = [] {
    std::map<std::string_view, FilterFunction> out;
    for (const auto& rows :
         {text_filters(), number_filters(), sequence_filters(), selection_filters()}) {
      for (const FilterRow& row : rows) out.emplace(row.name, row.function);
    }
    return out;
  }();
  return kFilters;
}

}  // namespace

FilterFunction find_filter(std::string_view name) {
  const auto at = all_filters().find(name);
  return at == all_filters().end() ? nullptr : at->second;
}

std::string unknown_filter(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& [one, function] : all_filters()) names.emplace_back(one);
  return fmt::format("expected a filter of chat templates, got '{}'{}", name, suggest(name, names));
}

// Filters that return numbers.

namespace {

// Python's float(): a number, or the text of one.
std::optional<double> float_of(Machine& machine, const Value& value) {
  if (value.is_number()) return value.number();
  if (!value.is_text()) return std::nullopt;
  machine.budget.step(value.text().size() / 16);
  std::string text(stripped(value.text()));
  std::erase(text, '_');
  std::string_view digits = text;
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
  double out = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  if (error == std::errc::result_out_of_range && end == digits.data() + digits.size())
    return std::strtod(text.c_str(), nullptr);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return out;
}

// Python's int() of a text.
std::optional<int64_t> integer_of_text(const std::string& whole, int64_t base) {
  std::string text(stripped(whole));
  std::erase(text, '_');
  std::string_view digits = text;
  const bool is_negative = digits.starts_with('-');
  if (is_negative || digits.starts_with('+')) digits.remove_prefix(1);
  const auto skip = [&](char letter, int64_t its_base) {
    if ((base != its_base && base != 0) || digits.size() < 3 || digits[0] != '0') return;
    if ((digits[1] | 0x20) != letter) return;
    digits.remove_prefix(2);
    base = its_base;
  };
  skip('x', 16);
  skip('o', 8);
  skip('b', 2);
  if (base == 0) base = 10;
  if (base < 2 || base > 36 || digits.empty() || digits[0] == '-') return std::nullopt;
  uint64_t out = 0;
  const char* const end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, out, static_cast<int>(base));
  if (result.ec == std::errc::result_out_of_range || out > static_cast<uint64_t>(INT64_MAX))
    throw JinjaError("int: expected an integer of 64 bits, got a larger one");
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return is_negative ? -static_cast<int64_t>(out) : static_cast<int64_t>(out);
}

std::optional<int64_t> truncated(double number) {
  if (!std::isfinite(number)) return std::nullopt;
  if (!(std::fabs(number) < 9.2e18))
    throw JinjaError("int: expected a number of 64 bits, got a larger one");
  return static_cast<int64_t>(number);
}

Value to_integer(Machine& machine, const Value& value, const Arguments& arguments) {
  const Parameters parameters(arguments, "int", {"default", "base"});
  require_defined(value);
  const Value fallback = parameters.has("default") ? parameters.at("default") : Value(0);
  if (value.is_text()) {
    machine.budget.step(value.text().size() / 16);
    if (const auto out = integer_of_text(value.text(), parameters.integer_or("base", 10)))
      return *out;
  } else if (value.is_integer()) {
    return value.integer();
  }
  const auto number = float_of(machine, value);
  const auto out = number ? truncated(*number) : std::nullopt;
  return out ? Value(*out) : fallback;
}

Value to_float(Machine& machine, const Value& value, const Arguments& arguments) {
  const Parameters parameters(arguments, "float", {"default"});
  require_defined(value);
  const auto out = float_of(machine, value);
  return out ? Value(*out) : parameters.has("default") ? parameters.at("default") : Value(0.0);
}

Value absolute(Machine&, const Value& value, const Arguments& arguments) {
  Parameters(arguments, "abs", {});
  require_defined(value);
  if (!value.is_number())
    throw JinjaError(
        fmt::format("abs: expected a number, got a value of type {}", value.type_name()));
  if (value.is_float()) return std::fabs(value.number());
  return value.integer() < 0 ? signed_value("-", value) : Value(value.integer());
}

// Half to even, in decimal, as Python rounds.
double rounded(double number, int64_t precision) {
  if (!std::isfinite(number) || precision > 300) return number;
  if (precision >= 0)
    return std::strtod(fmt::format("{:.{}f}", number, precision).c_str(), nullptr);
  if (precision < -308) return 0;
  const double scale = std::pow(10.0, static_cast<double>(-precision));
  return std::nearbyint(number / scale) * scale;
}

Value round(Machine&, const Value& value, const Arguments& arguments) {
  const Parameters parameters(arguments, "round", {"precision", "method"});
  const std::string method = parameters.text_or("method", "common");
  const int64_t precision = parameters.integer_or("precision", 0);
  require_defined(value);
  if (!value.is_number()) {
    throw JinjaError(
        fmt::format("round: expected a number, got a value of type {}", value.type_name()));
  }
  if (method == "common") {
    if (value.is_float()) return rounded(value.number(), precision);
    if (precision >= 0) return value.integer();
    return static_cast<int64_t>(rounded(value.number(), precision));
  }
  if (method != "ceil" && method != "floor") {
    throw JinjaError(
        fmt::format("round: expected the method common, ceil or floor, got '{}'", method));
  }
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = value.number() * scale;
  return (method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale;
}

Value length(Machine& machine, const Value& value, const Arguments& arguments) {
  Parameters(arguments, "length", {});
  return length_of(machine, value);
}

}  // namespace

std::vector<FilterRow> number_filters() {
  return {{"abs", absolute},   {"count", length},  {"float", to_float},
          {"int", to_integer}, {"length", length}, {"round", round}};
}

// Filters that choose among the elements of an iterable, or map them.

namespace {

Arguments without_first(const Arguments& arguments, size_t count) {
  Arguments out = arguments;
  out.positional.erase(out.positional.begin(),
                       out.positional.begin() + static_cast<std::ptrdiff_t>(count));
  return out;
}

std::string text_argument(const Arguments& arguments, size_t i, std::string_view what) {
  if (i >= arguments.positional.size() || !arguments.positional[i].is_text())
    throw JinjaError(fmt::format("expected {} as an argument, got none", what));
  return arguments.positional[i].text();
}

// select and reject: the first argument is a test. With an attribute, that comes before it.
template <bool kWanted, bool kHasAttribute>
Value choose(Machine& machine, const Value& value, const Arguments& arguments) {
  if (kHasAttribute && arguments.positional.empty())
    throw JinjaError("selectattr: expected the name of an attribute, got none");
  if (!value.is_true()) return iterator_of(machine, {});
  const size_t first = kHasAttribute ? 1 : 0;
  const bool has_test = arguments.positional.size() > first;
  const std::string test = has_test ? text_argument(arguments, first, "the name of a test") : "";
  const Arguments rest = has_test ? without_first(arguments, first + 1) : Arguments{};
  std::vector<Value> out;
  for (const Value& element : elements_of(machine, value)) {
    const Value looked_at =
        kHasAttribute ? attribute_path(machine, element, arguments.positional[0]) : element;
    const bool is_one = has_test ? machine.apply_test(test, looked_at, rest) : looked_at.is_true();
    if (is_one == kWanted) out.push_back(element);
  }
  return iterator_of(machine, std::move(out));
}

Value map(Machine& machine, const Value& value, const Arguments& arguments) {
  if (!value.is_true()) return iterator_of(machine, {});
  std::vector<Value> out;
  const auto named = [&](std::string_view name) -> const Value* {
    for (const auto& [one, argument] : arguments.named) {
      if (one == name) return &argument;
    }
    return nullptr;
  };
  const Value* const attribute = named("attribute");
  if (arguments.positional.empty() && attribute) {
    Parameters(arguments, "map", {"attribute", "default"});
    const Value* const fallback = named("default");
    for (const Value& element : elements_of(machine, value))
      out.push_back(attribute_path(machine, element, *attribute, fallback ? *fallback : Value()));
  } else {
    const std::string filter = text_argument(arguments, 0, "the name of a filter");
    const Arguments rest = without_first(arguments, 1);
    for (const Value& element : elements_of(machine, value))
      out.push_back(machine.apply_filter(filter, element, rest));
  }
  return iterator_of(machine, std::move(out));
}

}  // namespace

std::vector<FilterRow> selection_filters() {
  return {{"map", map},
          {"reject", choose<false, false>},
          {"rejectattr", choose<false, true>},
          {"select", choose<true, false>},
          {"selectattr", choose<true, true>}};
}

Value attribute_path(Machine& machine, const Value& value, const Value& path,
                     const Value& fallback) {
  const auto defined = [&](Value one) {
    return one.is_undefined() && !fallback.is_none() ? fallback : one;
  };
  if (path.is_integer()) return defined(item_of(machine, value, path));
  if (!path.is_text())
    throw JinjaError(fmt::format("expected the name of an attribute, got a {}", path.type_name()));
  Value out = value;
  for (const std::string_view part : split(path.text(), '.')) {
    const bool is_number = is_digits(part) && part.size() < 9;
    const Value key = is_number ? Value(int64_t{std::stoi(std::string(part))}) : Value(part);
    out = defined(item_of(machine, out, key));
  }
  return out;
}

}  // namespace axle::jinja
