#include "data/chat/jinja/machine.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/chat/jinja/builtins.h"
#include "data/chat/jinja/unicode.h"

namespace axle::jinja {

Value Machine::call(const Value& callable, const Arguments& arguments) {
  require_defined(callable);
  budget.step();
  const Budget::Level level(budget);
  if (!callable.is_object() || !callable.object()->is_callable())
    throw JinjaError(
        fmt::format("expected a function, got a value of type {}", callable.type_name()));
  const std::shared_ptr<Object> object = callable.object();  // may be replaced while it runs
  return object->call(*this, arguments);
}

Value Machine::apply_filter(std::string_view name, const Value& input, const Arguments& arguments) {
  budget.step();
  const Budget::Level level(budget);
  const FilterFunction filter = find_filter(name);
  if (!filter) throw JinjaError(unknown_filter(name));
  return filter(*this, input, arguments);
}

bool Machine::apply_test(std::string_view name, const Value& input, const Arguments& arguments) {
  budget.step();
  const Budget::Level level(budget);
  const TestFunction test = find_test(name);
  if (!test) throw JinjaError(unknown_test(name));
  return test(*this, input, arguments);
}

std::shared_ptr<Object> Machine::keep(std::shared_ptr<Object> object) {
  budget.bytes(256);
  kept_.push_back(object);
  return object;
}

void Machine::clear_kept() {
  for (const auto& object : kept_) object->clear();
  kept_.clear();
}

Parameters::Parameters(const Arguments& arguments, std::string_view function,
                       std::initializer_list<std::string_view> names)
    : function_(function) {
  if (arguments.positional.size() > names.size()) {
    throw JinjaError(fmt::format("{}: expected at most {} arguments, got {}", function,
                                 names.size(), arguments.positional.size()));
  }
  for (size_t i = 0; i < arguments.positional.size(); ++i)
    given_.emplace_back(names.begin()[i], &arguments.positional[i]);
  for (const auto& [name, value] : arguments.named) {
    const auto at = std::ranges::find(names, name);
    if (at == names.end())
      throw JinjaError(fmt::format("{}: expected no argument '{}', got one", function, name));
    if (has(*at))
      throw JinjaError(fmt::format("{}: expected the argument '{}' once, got two", function, name));
    given_.emplace_back(*at, &value);
  }
}

const Value* Parameters::find(std::string_view name) const {
  const auto at = std::ranges::find(given_, name, [](const auto& one) { return one.first; });
  return at == given_.end() ? nullptr : at->second;
}

const Value& Parameters::at(std::string_view name) const {
  const Value* const value = find(name);
  if (!value)
    throw JinjaError(fmt::format("{}: expected the argument '{}', got none", function_, name));
  return *value;
}

const std::string& Parameters::text(std::string_view name) const {
  const Value& value = at(name);
  require_defined(value);
  if (!value.is_text()) {
    throw JinjaError(fmt::format("{}: expected a text for '{}', got a value of type {}", function_,
                                 name, value.type_name()));
  }
  return value.text();
}

std::string Parameters::text_or(std::string_view name, std::string_view fallback) const {
  return has(name) ? text(name) : std::string(fallback);
}

int64_t Parameters::integer_or(std::string_view name, int64_t fallback) const {
  if (!has(name)) return fallback;
  const Value& value = at(name);
  require_defined(value);
  if (!value.is_integer()) {
    throw JinjaError(fmt::format("{}: expected an integer for '{}', got a value of type {}",
                                 function_, name, value.type_name()));
  }
  return value.integer();
}

bool Parameters::flag_or(std::string_view name, bool fallback) const {
  const Value* const value = find(name);
  return value ? value->is_true() : fallback;
}

std::optional<Value> Iterator::take_one() {
  if (next_ == elements_.size()) return std::nullopt;
  return std::move(elements_[next_++]);
}

std::vector<Value> Iterator::take_elements(Machine&) {
  std::vector<Value> out = std::exchange(elements_, {});
  out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(std::exchange(next_, 0)));
  return out;
}

std::vector<Value> elements_of(Machine& machine, const Value& value) {
  std::vector<Value> out;
  machine.check_read(value);
  if (value.is_undefined()) return out;
  if (value.is_list()) {
    machine.budget.bytes(value.list().elements.size() * sizeof(Value));
    out = value.list().elements;
  } else if (value.is_dict()) {
    machine.budget.bytes(value.dict().items.size() * sizeof(Value));
    for (const auto& [key, unused] : value.dict().items) out.push_back(key);
  } else if (value.is_text()) {
    const auto characters = characters_of(value.text());
    machine.budget.bytes(characters.size() * (sizeof(Value) + 64));
    for (const std::string_view character : characters) out.emplace_back(character);
  } else if (value.is_object() && value.object()->is_iterable()) {
    out = value.object()->take_elements(machine);
  } else {
    throw JinjaError(
        fmt::format("expected a value to iterate over, got one of type {}", value.type_name()));
  }
  machine.budget.step(out.size());
  return out;
}

bool is_iterable(const Value& value) {
  return value.is_undefined() || value.is_list() || value.is_dict() || value.is_text() ||
         (value.is_object() && value.object()->is_iterable());
}

int64_t length_of(Machine& machine, const Value& value) {
  if (value.is_undefined()) return 0;
  if (value.is_text()) {
    machine.budget.step(value.text().size() / 64);
    return static_cast<int64_t>(count_characters(value.text()));
  }
  if (value.is_list()) return std::ssize(value.list().elements);
  if (value.is_dict()) return std::ssize(value.dict().items);
  const auto length = value.is_object() ? value.object()->length() : std::nullopt;
  if (!length) {
    throw JinjaError(
        fmt::format("expected a value with a length, got one of type {}", value.type_name()));
  }
  return *length;
}

Value iterator_of(Machine& machine, std::vector<Value> elements) {
  machine.budget.bytes(elements.size() * sizeof(Value));
  return std::shared_ptr<Object>(std::make_shared<Iterator>(std::move(elements)));
}

}  // namespace axle::jinja
