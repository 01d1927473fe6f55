#include "data/chat/jinja/literal.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "data/chat/jinja/interpreter.h"
#include "data/chat/jinja/parser.h"

namespace axle::jinja {
namespace {

bool is_literal(const Expression& node) {
  const auto all_are = [&] {
    return std::ranges::all_of(node.children, [](const auto& child) { return is_literal(*child); });
  };
  switch (node.kind) {
    case ExpressionKind::kConstant:
      return true;
    case ExpressionKind::kList:
    case ExpressionKind::kTuple:
    case ExpressionKind::kDict:
      return all_are();
    case ExpressionKind::kUnary:
      return all_are() && node.children[0]->kind == ExpressionKind::kConstant &&
             node.children[0]->value.is_number();
    default:
      return false;
  }
}

}  // namespace

std::optional<Value> literal_value(std::string_view text) {
  try {
    const Body body = parse_template("{{ " + std::string(text) + " }}", "literal");
    if (body.size() != 1 || body[0]->kind != StatementKind::kOutput) return std::nullopt;
    if (!is_literal(*body[0]->expression)) return std::nullopt;
    Interpreter interpreter(Limits{});
    return interpreter.evaluate(*body[0]->expression, std::make_shared<Scope>(nullptr));
  } catch (const DataError&) {
    return std::nullopt;
  } catch (const JinjaError&) {
    return std::nullopt;
  }
}

}  // namespace axle::jinja
