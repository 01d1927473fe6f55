// The values of expressions.

#include <fmt/format.h>

#include <algorithm>

#include "data/chat/jinja/interpreter.h"
#include "data/chat/jinja/operators.h"
#include "data/chat/jinja/printing.h"

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

}  // namespace axle::jinja
