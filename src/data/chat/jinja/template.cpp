#include "data/chat/jinja/template.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/unicode.h"
#include "data/chat/jinja/builtins.h"
#include "data/chat/jinja/expression_parser.h"

namespace axle::jinja {
namespace {

// Bytes of a message: templates choose their own.
constexpr size_t kMaxMessage = 400;

}  // namespace

Template::Template(std::string_view source, std::string name, const Dialect& dialect)
    : name_(std::move(name)),
      is_strict_(dialect.is_strict),
      body_(std::make_shared<const Body>(parse_template(source, name_, dialect))) {}

namespace {

bool has_generation_in(const Body& body) {
  return std::ranges::any_of(body, [](const auto& node) {
    const auto in_branch = [](const auto& branch) { return has_generation_in(branch.second); };
    return node->kind == StatementKind::kGeneration || has_generation_in(node->body) ||
           has_generation_in(node->otherwise) || std::ranges::any_of(node->branches, in_branch);
  });
}

}  // namespace

bool Template::has_generation() const { return has_generation_in(*body_); }

Rendering Template::render(const Variables& variables, const Limits& limits,
                           std::optional<int64_t> now_secs) const {
  Interpreter interpreter(limits, is_strict_);
  const auto where = [&] { return fmt::format("{}:{}: ", name_, interpreter.line()); };
  try {
    const auto globals = std::make_shared<Scope>(nullptr);
    for (auto& [key, value] : global_functions(now_secs)) globals->set(key, std::move(value));
    for (const auto& [key, value] : variables) globals->set(key, value);
    std::string text = interpreter.run(*body_, std::make_shared<Scope>(globals));
    return {std::move(text), interpreter.generations(), interpreter.has_lost_generation(),
            interpreter.rounds()};
  } catch (const Refusal& refusal) {
    throw TemplateRefusal(where() +
                          "the template refuses: " + printable(refusal.what(), kMaxMessage));
  } catch (const JinjaError& error) {
    throw DataError(where() + printable(error.what(), kMaxMessage));
  }
}

namespace {

using Kind = StatementKind;
using StatementPtr = std::unique_ptr<const Statement>;
using Ends = std::initializer_list<std::string_view>;

class Parser {
 public:
  explicit Parser(TokenStream tokens) : tokens_(std::move(tokens)), expressions_(tokens_) {}

  Body parse() { return body({}); }

 private:
  StatementPtr make(Statement node) { return std::make_unique<const Statement>(std::move(node)); }

  // Reads up to a block that begins with one of `ends`, whose name is then the next token. Without
  // ends, up to the end of the template.
  Body body(Ends ends) {
    const TokenStream::Level level(tokens_);
    const int begin_line = tokens_.current().line;
    Body out;
    while (!tokens_.is(TokenKind::kEnd)) {
      const Token& token = tokens_.take();
      if (token.kind == TokenKind::kData) {
        out.push_back(make({.kind = Kind::kText, .line = token.line, .text = token.text}));
      } else if (token.kind == TokenKind::kVariableBegin) {
        Statement node{.kind = Kind::kOutput, .line = token.line};
        node.expression = expressions_.parse_tuple();
        tokens_.expect(TokenKind::kVariableEnd);
        out.push_back(make(std::move(node)));
      } else {
        if (std::ranges::any_of(ends, [&](auto name) { return tokens_.is_name(name); })) return out;
        out.push_back(statement());
        tokens_.expect(TokenKind::kBlockEnd);
      }
    }
    if (ends.size() > 0) {
      tokens_.fail(begin_line, fmt::format("expected '{{% {} %}}' for this block, got the end of "
                                           "the template",
                                           *(ends.end() - 1)));
    }
    return out;
  }

  // Reads a body and the name of the block that ends it; stands behind that name.
  Body body_until(std::string_view end) {
    tokens_.expect(TokenKind::kBlockEnd);
    Body out = body({end});
    tokens_.take();
    return out;
  }

  StatementPtr statement() {
    const int line = tokens_.current().line;
    const std::string name = tokens_.take_name("the name of a block");
    if (name == "if") return if_block(line);
    if (name == "for") return for_block(line);
    if (name == "set") return set_block(line);
    if (name == "macro") return macro_block(line);
    if (name == "call") return call_block(line);
    if (name == "filter") return filter_block(line);
    if (name == "with") return with_block(line);
    if (name == "generation") return generation_block(line);
    if (name == "print") {
      Statement node{.kind = Kind::kOutput, .line = line};
      node.expression = expressions_.parse_tuple();
      return make(std::move(node));
    }
    if (name == "break" || name == "continue") {
      if (loops_ == 0)
        tokens_.fail(line, fmt::format("expected '{}' in a loop, got it outside of one", name));
      return make({.kind = name == "break" ? Kind::kBreak : Kind::kContinue, .line = line});
    }
    tokens_.fail(line, fmt::format("expected a block of chat templates (if, for, set, macro, call, "
                                   "filter, with, generation, break, continue), got '{}', which is "
                                   "not supported here",
                                   name));
  }

  StatementPtr if_block(int line) {
    Statement node{.kind = Kind::kIf, .line = line};
    ExpressionPtr condition = expressions_.parse_tuple(false);
    ++expressions_.in_branch;
    while (true) {
      tokens_.expect(TokenKind::kBlockEnd);
      const bool is_else = condition == nullptr;
      Body part = is_else ? body({"endif"}) : body({"elif", "else", "endif"});
      node.branches.emplace_back(std::move(condition), std::move(part));
      const std::string end = tokens_.take().text;
      if (end == "endif") break;
      condition = end == "elif" ? expressions_.parse_tuple(false) : nullptr;
    }
    --expressions_.in_branch;
    return make(std::move(node));
  }

  Target target_part(bool with_field) {
    if (tokens_.skip_operator("(")) {
      Target out = target(false, ")");
      tokens_.expect_operator(")");
      return out;
    }
    Target out{.name = tokens_.take_name("a name to assign to")};
    for (const std::string_view constant : {"true", "false", "none", "True", "False", "None"}) {
      if (out.name == constant)
        tokens_.fail_here(fmt::format("a name before this, which may not be '{}'", constant));
    }
    if (with_field && tokens_.skip_operator(".")) out.field = tokens_.take_name("a field");
    return out;
  }

  // One name, or several with commas between them.
  Target target(bool with_field, std::string_view end) {
    const TokenStream::Level level(tokens_);
    Target first = target_part(with_field);
    if (!tokens_.is_operator(",")) return first;
    Target out{.is_tuple = true};
    out.parts.push_back(std::move(first));
    while (tokens_.skip_operator(",")) {
      if (tokens_.is_name(end) || tokens_.is_operator(end)) break;
      out.parts.push_back(target_part(with_field));
    }
    return out;
  }

  StatementPtr for_block(int line) {
    Statement node{.kind = Kind::kFor, .line = line};
    node.target = target(false, "in");
    tokens_.expect_name("in");
    node.expression = expressions_.parse_tuple(false);
    if (tokens_.skip_name("if")) node.condition = expressions_.parse();
    node.is_recursive = tokens_.skip_name("recursive");
    tokens_.expect(TokenKind::kBlockEnd);
    ++loops_;
    node.body = own_names([&] { return body({"else", "endfor"}); });
    --loops_;
    if (tokens_.take().text == "else")
      node.otherwise = own_names([&] { return body_until("endfor"); });
    return make(std::move(node));
  }

  StatementPtr set_block(int line) {
    Statement node{.kind = Kind::kSet, .line = line};
    node.target = target(true, "=");
    if (tokens_.skip_operator("=")) {
      node.expression = expressions_.parse_tuple();
      return make(std::move(node));
    }
    node.kind = Kind::kSetBlock;
    node.expression = expressions_.parse_filters(nullptr, false);
    node.body = without_loops([&] { return body_until("endset"); });
    return make(std::move(node));
  }

  // A body with names of its own. As in Jinja2, filters that are not there are errors in it also if
  // the block stands in a branch.
  template <class Fn>
  Body own_names(const Fn& parse) {
    const int in_branch = std::exchange(expressions_.in_branch, 0);
    Body out = parse();
    expressions_.in_branch = in_branch;
    return out;
  }

  // A body that is not part of the loop around it: break and continue can't leave it.
  template <class Fn>
  Body without_loops(const Fn& parse) {
    const int loops = std::exchange(loops_, 0);
    Body out = own_names(parse);
    loops_ = loops;
    return out;
  }

  std::vector<Parameter> parameters() {
    std::vector<Parameter> out;
    tokens_.expect_operator("(");
    while (!tokens_.is_operator(")")) {
      if (!out.empty()) {
        tokens_.expect_operator(",");
        if (tokens_.is_operator(")")) break;
      }
      Parameter one{.name = tokens_.take_name("the name of a parameter")};
      if (tokens_.skip_operator("="))
        one.fallback = expressions_.parse();
      else if (!out.empty() && out.back().fallback)
        tokens_.fail_here(
            fmt::format("a default value for '{}', as those before it have", one.name));
      out.push_back(std::move(one));
    }
    tokens_.take();
    return out;
  }

  StatementPtr macro_block(int line) {
    Statement node{.kind = Kind::kMacro, .line = line};
    node.text = tokens_.take_name("the name of a macro");
    const auto outer = std::exchange(expressions_.seen, {});
    node.parameters = parameters();
    node.body = without_loops([&] { return body_until("endmacro"); });
    take_macro_names(node, outer);
    return make(std::move(node));
  }

  void take_macro_names(Statement& node, const ExpressionParser::MacroNames& outer) {
    auto& seen = expressions_.seen;
    node.uses_caller = seen.caller;
    node.uses_varargs = seen.varargs;
    node.uses_kwargs = seen.kwargs;
    seen = {.caller = seen.caller || outer.caller,
            .varargs = seen.varargs || outer.varargs,
            .kwargs = seen.kwargs || outer.kwargs};
  }

  StatementPtr call_block(int line) {
    Statement node{.kind = Kind::kCallBlock, .line = line};
    if (tokens_.is_operator("(")) node.parameters = parameters();
    node.expression = expressions_.parse();
    if (node.expression->kind != ExpressionKind::kCall)
      tokens_.fail(line, "expected the call of a macro, got another expression");
    const auto outer = std::exchange(expressions_.seen, {});
    node.body = without_loops([&] { return body_until("endcall"); });
    take_macro_names(node, outer);
    return make(std::move(node));
  }

  StatementPtr filter_block(int line) {
    Statement node{.kind = Kind::kFilter, .line = line};
    node.expression = expressions_.parse_filters(nullptr, true);
    node.body = without_loops([&] { return body_until("endfilter"); });
    return make(std::move(node));
  }

  StatementPtr with_block(int line) {
    Statement node{.kind = Kind::kWith, .line = line};
    while (!tokens_.is(TokenKind::kBlockEnd)) {
      if (!node.assignments.empty()) tokens_.expect_operator(",");
      Target name = target_part(false);
      tokens_.expect_operator("=");
      node.assignments.emplace_back(std::move(name), expressions_.parse());
    }
    node.body = own_names([&] { return body_until("endwith"); });
    return make(std::move(node));
  }

  StatementPtr generation_block(int line) {
    Statement node{.kind = Kind::kGeneration, .line = line};
    node.body = without_loops([&] { return body_until("endgeneration"); });
    return make(std::move(node));
  }

  TokenStream tokens_;
  ExpressionParser expressions_;
  int loops_ = 0;  // loops around the current statement
};

}  // namespace

Body parse_template(std::string_view source, const std::string& name, const Dialect& dialect) {
  return Parser(TokenStream(tokens_of(source, name, dialect), name)).parse();
}

}  // namespace axle::jinja
