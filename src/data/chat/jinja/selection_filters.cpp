// Filters that choose among the elements of an iterable, or map them.

#include <fmt/format.h>

#include "base/text/text.h"
#include "data/chat/jinja/attribute_path.h"
#include "data/chat/jinja/filters.h"
#include "data/chat/jinja/operators.h"

namespace axle::jinja {
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
