#include "data/chat/jinja/expression_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/text/unicode.h"
#include "data/chat/jinja/builtins.h"

namespace axle::jinja {
namespace {

std::string shown(const Token& token) {
  switch (token.kind) {
    case TokenKind::kData:
      return "text outside of tags";
    case TokenKind::kBlockBegin:
      return "'{%'";
    case TokenKind::kBlockEnd:
      return "'%}'";
    case TokenKind::kVariableBegin:
      return "'{{'";
    case TokenKind::kVariableEnd:
      return "'}}'";
    case TokenKind::kText:
      return fmt::format("the text '{}'", printable(token.text, 40));
    case TokenKind::kEnd:
      return "the end of the template";
    default:
      return fmt::format("'{}'", printable(token.text, 40));
  }
}

}  // namespace

void TokenStream::expect_operator(std::string_view symbol) {
  if (!skip_operator(symbol)) fail_here(fmt::format("'{}'", symbol));
}
void TokenStream::expect_name(std::string_view name) {
  if (!skip_name(name)) fail_here(fmt::format("'{}'", name));
}
void TokenStream::expect(TokenKind kind) {
  if (!is(kind)) fail_here(shown({kind, {}, 0}));
  take();
}
std::string TokenStream::take_name(std::string_view what) {
  if (!is(TokenKind::kName)) fail_here(what);
  return take().text;
}

void TokenStream::fail_here(std::string_view expected) const {
  fail(current().line, fmt::format("expected {}, got {}", expected, shown(current())));
}
void TokenStream::fail(int line, std::string_view message) const {
  throw DataError(fmt::format("{}:{}: {}", name_, line, message));
}
void TokenStream::fail_nesting() const {
  fail(current().line,
       fmt::format("expected at most {} levels of blocks and brackets, got more", kMaxNesting));
}

namespace {

using Kind = ExpressionKind;

// Chains of operators nest to the left: a + b + c + ...
constexpr int kMaxExpressionDepth = 400;

}  // namespace

ExpressionPtr ExpressionParser::make(Expression node) {
  const auto deepen = [&](const ExpressionPtr& child) {
    if (child) node.depth = std::max(node.depth, child->depth + 1);
  };
  std::ranges::for_each(node.children, deepen);
  std::ranges::for_each(node.arguments.positional, deepen);
  for (const auto& [name, value] : node.arguments.named) deepen(value);
  deepen(node.arguments.more_positional);
  deepen(node.arguments.more_named);
  if (node.depth > kMaxExpressionDepth) {
    tokens_.fail(node.line, fmt::format("expected at most {} levels in an expression, got more",
                                        kMaxExpressionDepth));
  }
  return std::make_unique<const Expression>(std::move(node));
}

bool ExpressionParser::at_tuple_end() const {
  return tokens_.is(TokenKind::kVariableEnd) || tokens_.is(TokenKind::kBlockEnd) ||
         tokens_.is_operator(")") || tokens_.is_name("recursive");
}

ExpressionPtr ExpressionParser::parse_tuple(bool with_if) {
  const int line = tokens_.current().line;
  std::vector<ExpressionPtr> parts;
  bool is_tuple = false;
  while (!at_tuple_end()) {
    parts.push_back(with_if ? conditional() : either());
    if (!tokens_.is_operator(",")) break;
    tokens_.take();
    is_tuple = true;
  }
  if (!is_tuple && parts.size() == 1) return std::move(parts[0]);
  if (parts.empty() && !tokens_.is_operator(")")) tokens_.fail_here("an expression");
  return make({.kind = Kind::kTuple, .line = line, .children = std::move(parts)});
}

ExpressionPtr ExpressionParser::conditional() {
  const TokenStream::Level level(tokens_);
  ExpressionPtr out = either();
  while (tokens_.is_name("if")) {
    const int line = tokens_.take().line;
    ++in_branch;
    std::vector<ExpressionPtr> parts;
    parts.push_back(std::move(out));
    parts.push_back(either());
    parts.push_back(tokens_.skip_name("else") ? conditional() : nullptr);
    --in_branch;
    out = make({.kind = Kind::kConditional, .line = line, .children = std::move(parts)});
  }
  return out;
}

template <class Operand>
ExpressionPtr ExpressionParser::left_to_right(std::initializer_list<std::string_view> symbols,
                                              Operand operand) {
  ExpressionPtr out = (this->*operand)();
  while (std::ranges::any_of(symbols, [&](auto symbol) { return tokens_.is_operator(symbol); })) {
    const Token& symbol = tokens_.take();
    Expression node{.kind = Kind::kBinary, .line = symbol.line, .text = symbol.text};
    node.children.push_back(std::move(out));
    node.children.push_back((this->*operand)());
    out = make(std::move(node));
  }
  return out;
}

ExpressionPtr ExpressionParser::either() {
  ExpressionPtr out = both();
  while (tokens_.is_name("or")) {
    Expression node{.kind = Kind::kOr, .line = tokens_.take().line};
    node.children.push_back(std::move(out));
    node.children.push_back(both());
    out = make(std::move(node));
  }
  return out;
}

ExpressionPtr ExpressionParser::both() {
  ExpressionPtr out = negation();
  while (tokens_.is_name("and")) {
    Expression node{.kind = Kind::kAnd, .line = tokens_.take().line};
    node.children.push_back(std::move(out));
    node.children.push_back(negation());
    out = make(std::move(node));
  }
  return out;
}

ExpressionPtr ExpressionParser::negation() {
  const TokenStream::Level level(tokens_);
  if (!tokens_.is_name("not")) return comparison();
  Expression node{.kind = Kind::kNot, .line = tokens_.take().line};
  node.children.push_back(negation());
  return make(std::move(node));
}

ExpressionPtr ExpressionParser::comparison() {
  Expression node{.kind = Kind::kCompare, .line = tokens_.current().line};
  node.children.push_back(sum());
  const auto is_symbol = [&](std::string_view symbol) { return tokens_.is_operator(symbol); };
  const auto symbols = std::to_array<std::string_view>({"==", "!=", "<", "<=", ">", ">="});
  while (true) {
    if (std::ranges::any_of(symbols, is_symbol)) {
      node.operators.push_back(tokens_.take().text);
    } else if (tokens_.skip_name("in")) {
      node.operators.emplace_back("in");
    } else if (tokens_.is_name("not") && tokens_.ahead().kind == TokenKind::kName &&
               tokens_.ahead().text == "in") {
      tokens_.take();
      tokens_.take();
      node.operators.emplace_back("not in");
    } else {
      break;
    }
    node.children.push_back(sum());
  }
  return node.operators.empty() ? std::move(node.children[0]) : make(std::move(node));
}

ExpressionPtr ExpressionParser::sum() {
  return left_to_right({"+", "-"}, &ExpressionParser::concatenation);
}

ExpressionPtr ExpressionParser::concatenation() {
  Expression node{.kind = Kind::kConcatenate, .line = tokens_.current().line};
  node.children.push_back(product());
  while (tokens_.skip_operator("~")) node.children.push_back(product());
  return node.children.size() == 1 ? std::move(node.children[0]) : make(std::move(node));
}

ExpressionPtr ExpressionParser::product() {
  return left_to_right({"*", "/", "//", "%"}, &ExpressionParser::power);
}

ExpressionPtr ExpressionParser::power() {
  ExpressionPtr out = unary();
  while (tokens_.is_operator("**")) {
    const Token& symbol = tokens_.take();
    Expression node{.kind = Kind::kBinary, .line = symbol.line, .text = symbol.text};
    node.children.push_back(std::move(out));
    node.children.push_back(unary());
    out = make(std::move(node));
  }
  return out;
}

ExpressionPtr ExpressionParser::unary(bool with_filters) {
  const TokenStream::Level level(tokens_);
  ExpressionPtr out;
  if (tokens_.is_operator("-") || tokens_.is_operator("+")) {
    const Token& symbol = tokens_.take();
    Expression node{.kind = Kind::kUnary, .line = symbol.line, .text = symbol.text};
    node.children.push_back(unary(false));
    out = make(std::move(node));
  } else {
    out = primary();
  }
  out = postfix(std::move(out));
  return with_filters ? filter_chain(std::move(out)) : std::move(out);
}

ExpressionPtr ExpressionParser::named_constant() {
  const Token& token = tokens_.take();
  Expression node{.kind = Kind::kConstant, .line = token.line};
  if (token.text == "true" || token.text == "True") {
    node.value = true;
  } else if (token.text == "false" || token.text == "False") {
    node.value = false;
  } else if (token.text != "none" && token.text != "None") {
    node.kind = Kind::kName;
    node.text = token.text;
    seen.caller = seen.caller || node.text == "caller";
    seen.varargs = seen.varargs || node.text == "varargs";
    seen.kwargs = seen.kwargs || node.text == "kwargs";
  }
  return make(std::move(node));
}

namespace {

std::optional<Value> number_of(const Token& token) {
  if (token.kind == TokenKind::kFloat) {
    double number = 0;
    const char* const end = token.text.data() + token.text.size();
    const auto result = std::from_chars(token.text.data(), end, number);
    // Numbers beyond the range are infinite or zero, as in Python.
    return result.ec == std::errc::result_out_of_range ? std::strtod(token.text.c_str(), nullptr)
                                                       : number;
  }
  std::string_view digits = token.text;
  int base = 10;
  if (digits.size() > 2 && digits[0] == '0') {
    const char kind = static_cast<char>(digits[1] | 0x20);
    base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 10;
    if (base != 10) digits.remove_prefix(2);
  }
  int64_t number = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  return result.ec == std::errc() ? std::optional<Value>(number) : std::nullopt;
}

}  // namespace

ExpressionPtr ExpressionParser::primary() {
  const Token& token = tokens_.current();
  const int line = token.line;
  if (token.kind == TokenKind::kName) return named_constant();
  if (token.kind == TokenKind::kText) {
    std::string text;
    while (tokens_.is(TokenKind::kText)) text += tokens_.take().text;
    return make({.kind = Kind::kConstant, .line = line, .value = std::move(text)});
  }
  if (token.kind == TokenKind::kInteger || token.kind == TokenKind::kFloat) {
    std::optional<Value> number = number_of(tokens_.take());
    if (!number) tokens_.fail(line, "expected integers of 64 bits, got " + token.text);
    return make({.kind = Kind::kConstant, .line = line, .value = *std::move(number)});
  }
  if (tokens_.skip_operator("(")) {
    ExpressionPtr out = parse_tuple();
    tokens_.expect_operator(")");
    return out;
  }
  if (tokens_.is_operator("[")) return list();
  if (tokens_.is_operator("{")) return dict();
  tokens_.fail_here("an expression");
}

ExpressionPtr ExpressionParser::list() {
  Expression node{.kind = Kind::kList, .line = tokens_.take().line};
  while (!tokens_.is_operator("]")) {
    if (!node.children.empty()) {
      tokens_.expect_operator(",");
      if (tokens_.is_operator("]")) break;
    }
    node.children.push_back(conditional());
  }
  tokens_.take();
  return make(std::move(node));
}

ExpressionPtr ExpressionParser::dict() {
  Expression node{.kind = Kind::kDict, .line = tokens_.take().line};
  while (!tokens_.is_operator("}")) {
    if (!node.children.empty()) {
      tokens_.expect_operator(",");
      if (tokens_.is_operator("}")) break;
    }
    node.children.push_back(conditional());
    tokens_.expect_operator(":");
    node.children.push_back(conditional());
  }
  tokens_.take();
  return make(std::move(node));
}

ExpressionPtr ExpressionParser::postfix(ExpressionPtr node) {
  while (true) {
    if (tokens_.is_operator(".") || tokens_.is_operator("[")) {
      node = subscript(std::move(node));
    } else if (tokens_.is_operator("(")) {
      Expression call{.kind = Kind::kCall, .line = tokens_.current().line};
      call.children.push_back(std::move(node));
      call.arguments = call_arguments();
      node = make(std::move(call));
    } else {
      return node;
    }
  }
}

ExpressionPtr ExpressionParser::subscript(ExpressionPtr object) {
  Expression node{.kind = Kind::kItem, .line = tokens_.current().line};
  node.children.push_back(std::move(object));
  if (tokens_.skip_operator(".")) {
    if (tokens_.is(TokenKind::kInteger)) {
      const Token& token = tokens_.take();
      const std::optional<Value> number = number_of(token);
      if (!number) tokens_.fail(token.line, "expected integers of 64 bits, got " + token.text);
      node.children.push_back(
          make({.kind = Kind::kConstant, .line = token.line, .value = *number}));
    } else {
      node.kind = Kind::kAttribute;
      node.text = tokens_.take_name("a name behind the dot");
    }
    return make(std::move(node));
  }
  tokens_.take();
  std::vector<ExpressionPtr> indices;
  while (!tokens_.is_operator("]")) {
    if (!indices.empty()) tokens_.expect_operator(",");
    indices.push_back(index());
  }
  tokens_.take();
  if (indices.size() == 1) {
    node.children.push_back(std::move(indices[0]));
  } else {
    if (std::ranges::any_of(indices, [](const auto& i) { return i->kind == Kind::kSlice; }))
      tokens_.fail(node.line, "expected one slice alone in brackets, got several parts");
    node.children.push_back(
        make({.kind = Kind::kTuple, .line = node.line, .children = std::move(indices)}));
  }
  return make(std::move(node));
}

// begin:end:step, or one expression.
ExpressionPtr ExpressionParser::index() {
  Expression slice{.kind = Kind::kSlice, .line = tokens_.current().line};
  const auto at_end = [&] {
    return tokens_.is_operator("]") || tokens_.is_operator(",") || tokens_.is_operator(":");
  };
  ExpressionPtr first = tokens_.is_operator(":") ? nullptr : conditional();
  if (!tokens_.is_operator(":")) return first;
  slice.children.push_back(std::move(first));
  for (int i = 0; i < 2; ++i) {
    const bool has_part = tokens_.skip_operator(":") && !at_end();
    slice.children.push_back(has_part ? conditional() : nullptr);
  }
  return make(std::move(slice));
}

CallArguments ExpressionParser::call_arguments() {
  tokens_.expect_operator("(");
  CallArguments out;
  const auto late = [&](bool is_late) {
    if (is_late) tokens_.fail_here("arguments without names before those with names");
  };
  for (bool is_first = true; !tokens_.is_operator(")"); is_first = false) {
    if (!is_first) {
      tokens_.expect_operator(",");
      if (tokens_.is_operator(")")) break;
    }
    if (tokens_.is_operator("*")) {
      late(out.more_positional || out.more_named);
      tokens_.take();
      out.more_positional = conditional();
    } else if (tokens_.is_operator("**")) {
      late(out.more_named != nullptr);
      tokens_.take();
      out.more_named = conditional();
    } else if (tokens_.is(TokenKind::kName) && tokens_.ahead().kind == TokenKind::kOperator &&
               tokens_.ahead().text == "=") {
      late(out.more_named != nullptr);
      std::string name = tokens_.take().text;
      tokens_.take();
      if (std::ranges::any_of(out.named, [&](const auto& one) { return one.first == name; }))
        tokens_.fail_here(fmt::format("the argument '{}' once", name));
      out.named.emplace_back(std::move(name), conditional());
    } else {
      late(out.more_positional || out.more_named || !out.named.empty());
      out.positional.push_back(conditional());
    }
  }
  tokens_.take();
  return out;
}

ExpressionPtr ExpressionParser::filter_chain(ExpressionPtr node) {
  while (true) {
    if (tokens_.is_operator("|")) {
      node = parse_filters(std::move(node), false);
    } else if (tokens_.is_name("is")) {
      node = test(std::move(node));
    } else if (tokens_.is_operator("(")) {
      node = postfix(std::move(node));
    } else {
      return node;
    }
  }
}

ExpressionPtr ExpressionParser::parse_filters(ExpressionPtr input, bool is_first_named) {
  while (tokens_.is_operator("|") || is_first_named) {
    if (!is_first_named) tokens_.take();
    is_first_named = false;
    input = filter(std::move(input));
  }
  return input;
}

ExpressionPtr ExpressionParser::filter(ExpressionPtr input) {
  Expression node{.kind = Kind::kFilter, .line = tokens_.current().line};
  node.text = tokens_.take_name("the name of a filter");
  if (in_branch == 0 && !find_filter(node.text)) tokens_.fail(node.line, unknown_filter(node.text));
  if (input) node.children.push_back(std::move(input));
  if (tokens_.is_operator("(")) node.arguments = call_arguments();
  return make(std::move(node));
}

ExpressionPtr ExpressionParser::test(ExpressionPtr input) {
  const int line = tokens_.take().line;
  const bool is_negated = tokens_.skip_name("not");
  Expression node{.kind = Kind::kTest, .line = line};
  node.text = tokens_.take_name("the name of a test");
  if (in_branch == 0 && !find_test(node.text)) tokens_.fail(line, unknown_test(node.text));
  node.children.push_back(std::move(input));
  const bool is_word = tokens_.is_name("else") || tokens_.is_name("or") || tokens_.is_name("and");
  const bool is_value = tokens_.is(TokenKind::kName) || tokens_.is(TokenKind::kText) ||
                        tokens_.is(TokenKind::kInteger) || tokens_.is(TokenKind::kFloat) ||
                        tokens_.is_operator("[") || tokens_.is_operator("{");
  if (tokens_.is_operator("(")) {
    node.arguments = call_arguments();
  } else if (is_value && !is_word) {
    if (tokens_.is_name("is")) tokens_.fail_here("one test; join two by `and`");
    node.arguments.positional.push_back(postfix(primary()));
  }
  ExpressionPtr out = make(std::move(node));
  if (!is_negated) return out;
  Expression negated{.kind = Kind::kNot, .line = line};
  negated.children.push_back(std::move(out));
  return make(std::move(negated));
}

}  // namespace axle::jinja
