// The values of expressions.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "data/chat/jinja/builtins.h"
#include "data/chat/jinja/interpreter.h"

namespace axle::jinja {

using Kind = ExpressionKind;

Value Interpreter::evaluate(const Expression& node, const Scope::Ptr& scope) {
  budget.step();
  const Budget::Level level(budget);
  line_ = node.line;
  return evaluate_kind(node, scope);
}

Value Interpreter::evaluate_kind(const Expression& node, const Scope::Ptr& scope) {
  switch (node.kind) {
    case Kind::kConstant:
      return node.value;
    case Kind::kName:
      return evaluate_name(node, scope);
    case Kind::kList:
    case Kind::kTuple:
      return evaluate_list(node, scope);
    case Kind::kDict:
      return evaluate_dict(node, scope);
    case Kind::kAttribute:
      return attribute_of(*this, evaluate(*node.children[0], scope), node.text);
    case Kind::kItem:
      return evaluate_item(node, scope);
    case Kind::kSlice:
      break;  // kItem reads it
    case Kind::kCall:
      return evaluate_call(node, scope);
    case Kind::kFilter:
      return evaluate_filter(node, scope);
    case Kind::kTest:
      return evaluate_test(node, scope);
    case Kind::kNot:
      return !is_true(evaluate(*node.children[0], scope));
    case Kind::kAnd:
    case Kind::kOr: {
      Value first = evaluate(*node.children[0], scope);
      if (is_true(first) == (node.kind == Kind::kOr)) return first;
      return evaluate(*node.children[1], scope);
    }
    case Kind::kConditional:
      return evaluate_conditional(node, scope);
    case Kind::kUnary:
      return signed_value(node.text, evaluate(*node.children[0], scope));
    case Kind::kBinary:
      return evaluate_binary(node, scope);
    case Kind::kConcatenate:
      return evaluate_concatenation(node, scope);
    case Kind::kCompare:
      return evaluate_comparison(node, scope);
  }
  return {};
}

Value Interpreter::evaluate_name(const Expression& node, const Scope::Ptr& scope) {
  const Value* const found = scope->find(node.text);
  return found ? *found : Value::undefined(fmt::format("'{}' is undefined", node.text));
}

Value Interpreter::evaluate_list(const Expression& node, const Scope::Ptr& scope) {
  budget.bytes(node.children.size() * sizeof(Value));
  std::vector<Value> elements;
  elements.reserve(node.children.size());
  for (const auto& child : node.children) elements.push_back(evaluate(*child, scope));
  return Value::list(std::move(elements),
                     node.kind == Kind::kTuple ? ListKind::kTuple : ListKind::kList);
}

Value Interpreter::evaluate_dict(const Expression& node, const Scope::Ptr& scope) {
  budget.bytes(node.children.size() * sizeof(Value));
  std::vector<std::pair<Value, Value>> items;
  for (size_t i = 0; i + 1 < node.children.size(); i += 2) {
    Value key = evaluate(*node.children[i], scope);
    put_item(items, std::move(key), evaluate(*node.children[i + 1], scope), budget);
  }
  return Value::dict(std::move(items));
}

Value Interpreter::evaluate_item(const Expression& node, const Scope::Ptr& scope) {
  const Value object = evaluate(*node.children[0], scope);
  const Expression& key = *node.children[1];
  if (key.kind != Kind::kSlice) return item_of(*this, object, evaluate(key, scope));
  Value bounds[3];
  for (size_t i = 0; i < 3; ++i) {
    if (key.children[i]) bounds[i] = evaluate(*key.children[i], scope);
  }
  return slice_of(*this, object, bounds[0], bounds[1], bounds[2]);
}

Value Interpreter::evaluate_call(const Expression& node, const Scope::Ptr& scope) {
  const Value callable = evaluate(*node.children[0], scope);
  const Arguments arguments = evaluate_arguments(node.arguments, scope);
  line_ = node.line;
  Value out = call(callable, arguments);
  line_ = node.line;
  return out;
}

Value Interpreter::evaluate_filter(const Expression& node, const Scope::Ptr& scope) {
  const Value input = evaluate(*node.children[0], scope);
  const Arguments arguments = evaluate_arguments(node.arguments, scope);
  line_ = node.line;
  return apply_filter(node.text, input, arguments);
}

Value Interpreter::evaluate_test(const Expression& node, const Scope::Ptr& scope) {
  const Value input = evaluate(*node.children[0], scope);
  const Arguments arguments = evaluate_arguments(node.arguments, scope);
  line_ = node.line;
  return apply_test(node.text, input, arguments);
}

Value Interpreter::evaluate_conditional(const Expression& node, const Scope::Ptr& scope) {
  if (is_true(evaluate(*node.children[1], scope))) return evaluate(*node.children[0], scope);
  if (node.children[2]) return evaluate(*node.children[2], scope);
  return Value::undefined(fmt::format(
      "the inline if-expression on line {} evaluated to false and no else section was defined",
      node.line));
}

Value Interpreter::evaluate_binary(const Expression& node, const Scope::Ptr& scope) {
  const Value first = evaluate(*node.children[0], scope);
  const Value second = evaluate(*node.children[1], scope);
  line_ = node.line;
  return arithmetic(*this, node.text, first, second);
}

Value Interpreter::evaluate_concatenation(const Expression& node, const Scope::Ptr& scope) {
  std::string out;
  for (const auto& child : node.children) {
    const std::string part = to_text(*this, evaluate(*child, scope));
    budget.bytes(part.size());
    out += part;
  }
  return out;
}

Value Interpreter::evaluate_comparison(const Expression& node, const Scope::Ptr& scope) {
  Value left = evaluate(*node.children[0], scope);
  for (size_t i = 0; i < node.operators.size(); ++i) {
    Value right = evaluate(*node.children[i + 1], scope);
    line_ = node.line;
    if (!compare(*this, node.operators[i], left, right)) return false;
    left = std::move(right);
  }
  return true;
}

Arguments Interpreter::evaluate_arguments(const CallArguments& given, const Scope::Ptr& scope) {
  Arguments out;
  for (const auto& one : given.positional) out.positional.push_back(evaluate(*one, scope));
  for (const auto& [name, one] : given.named) out.named.emplace_back(name, evaluate(*one, scope));
  if (given.more_positional) {
    for (Value& one : elements_of(*this, evaluate(*given.more_positional, scope)))
      out.positional.push_back(std::move(one));
  }
  if (!given.more_named) return out;
  const Value more = evaluate(*given.more_named, scope);
  if (!more.is_dict())
    throw JinjaError(fmt::format("expected a mapping behind **, got a {}", more.type_name()));
  budget.step(more.dict().items.size());
  for (const auto& [key, value] : more.dict().items) {
    if (!key.is_text()) throw JinjaError("expected texts as keys behind **, got others");
    const std::string& name = key.text();
    const auto is_it = [&](const auto& one) { return one.first == name; };
    if (std::ranges::any_of(out.named, is_it))
      throw JinjaError(fmt::format("expected the argument '{}' once, got two", name));
    out.named.emplace_back(name, value);
  }
  return out;
}

// Which methods a value has, and the methods of lists and mappings.

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
