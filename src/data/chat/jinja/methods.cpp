// Which methods a value has, and those of lists and mappings.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "data/chat/jinja/operators.h"
#include "data/chat/jinja/printing.h"
#include "data/chat/jinja/text_methods.h"

namespace axle::jinja {
namespace {

template <class Names>
bool is_one_of(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Jinja2's sandbox forbids these.
constexpr auto kChangingDict =
    std::to_array<std::string_view>({"clear", "pop", "popitem", "setdefault", "update"});
constexpr auto kChangingList = std::to_array<std::string_view>(
    {"append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"});

[[noreturn]] void fail_changing(const Value& value, std::string_view name) {
  throw JinjaError(fmt::format(
      "expected a {} to stay as it is, got a call of its method '{}'; make a new one by +",
      value.type_name(), name));
}

// What items(), keys() and values() return: it has a length, but no elements by number.
class View final : public Object {
 public:
  View(std::string_view type, std::vector<Value> elements)
      : type_(type), depth_(depth_around(elements)), elements_(std::move(elements)) {}
  std::string_view type_name() const override { return type_; }
  std::string repr(Machine& machine) const override;
  bool is_true() const override { return !elements_.empty(); }
  bool is_iterable() const override { return true; }
  std::vector<Value> take_elements(Machine&) override { return elements_; }
  std::optional<int64_t> length() const override { return std::ssize(elements_); }
  int depth() const override { return depth_; }

 private:
  std::string_view type_;
  int depth_;
  std::vector<Value> elements_;
};

std::string View::repr(Machine& machine) const {
  return fmt::format("{}({})", type_, jinja::repr(machine, Value::list(elements_)));
}

void expect_none(const Arguments& arguments, std::string_view name) {
  Parameters(arguments, name, {});
}

Value view(Machine& machine, const Value& value, std::string_view name) {
  std::vector<Value> elements;
  for (const auto& [key, one] : value.dict().items) {
    elements.push_back(name == "keys" ? key : name == "values" ? one : Value::tuple({key, one}));
  }
  machine.budget.bytes(elements.size() * 3 * sizeof(Value));
  machine.budget.step(elements.size());
  const std::string_view type = name == "keys"     ? "dict_keys"
                                : name == "values" ? "dict_values"
                                                   : "dict_items";
  return std::shared_ptr<Object>(std::make_shared<View>(type, std::move(elements)));
}

Value dict_method(Machine& machine, const Value& value, std::string_view name,
                  const Arguments& arguments) {
  if (name == "get") {
    if (!arguments.named.empty() || arguments.positional.empty() || arguments.positional.size() > 2)
      throw JinjaError("get: expected one or two arguments, got others");
    check_hashable(arguments.positional[0]);
    const auto at = find_key(value.dict(), arguments.positional[0], machine.budget);
    if (at) return value.dict().items[*at].second;
    return arguments.positional.size() > 1 ? arguments.positional[1] : Value();
  }
  expect_none(arguments, name);
  return name == "copy" ? value : view(machine, value, name);
}

Value list_method(Machine& machine, const Value& value, std::string_view name,
                  const Arguments& arguments) {
  if (name == "copy") {
    expect_none(arguments, name);
    return value;
  }
  const Value wanted = Parameters(arguments, name, {"value"}).at("value");
  int64_t count = 0;
  for (size_t i = 0; i < value.list().elements.size(); ++i) {
    if (!equals(value.list().elements[i], wanted, machine.budget)) continue;
    if (name == "index") return static_cast<int64_t>(i);
    ++count;
  }
  if (name == "index")
    throw JinjaError("index: expected an element of the list, got a value that is not in it");
  return count;
}

using Method = Value (*)(Machine&, const Value&, std::string_view, const Arguments&);

Value bound(const Value& value, std::string_view name, Method method) {
  return std::shared_ptr<Object>(std::make_shared<Function>(
      std::string(name),
      [value, own = std::string(name), method](Machine& machine, const Arguments& arguments) {
        return method(machine, value, own, arguments);
      },
      depth_around({value})));
}

}  // namespace

std::optional<Value> method_of(const Value& value, std::string_view name) {
  if (value.is_text()) {
    if (is_text_method(name)) return bound(value, name, text_method);
    if (is_unsupported_text_method(name)) {
      throw JinjaError(
          fmt::format("expected a method of texts that is supported here, got '{}'", name));
    }
  } else if (value.is_dict()) {
    if (is_one_of(std::to_array<std::string_view>({"get", "items", "keys", "values", "copy"}),
                  name))
      return bound(value, name, dict_method);
    if (is_one_of(kChangingDict, name)) fail_changing(value, name);
  } else if (value.is_list()) {
    const bool is_tuple = value.list().kind == ListKind::kTuple;
    if (name == "index" || name == "count" || (name == "copy" && !is_tuple))
      return bound(value, name, list_method);
    if (!is_tuple && is_one_of(kChangingList, name)) fail_changing(value, name);
  }
  return std::nullopt;
}

}  // namespace axle::jinja
