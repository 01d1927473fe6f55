// Reads expressions, with the precedence of Jinja2.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/chat/jinja/lexer.h"
#include "data/chat/jinja/syntax.h"

namespace axle::jinja {

class TokenStream {
 public:
  /// `name` is that of the template, for messages.
  TokenStream(std::vector<Token> tokens, std::string name)
      : tokens_(std::move(tokens)), name_(std::move(name)) {}

  const Token& current() const { return tokens_[at_]; }
  const Token& ahead() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  const Token& take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool is(TokenKind kind) const { return current().kind == kind; }
  bool is_operator(std::string_view symbol) const {
    return is(TokenKind::kOperator) && current().text == symbol;
  }
  bool is_name(std::string_view name) const {
    return is(TokenKind::kName) && current().text == name;
  }
  bool skip_operator(std::string_view symbol) { return is_operator(symbol) && (take(), true); }
  bool skip_name(std::string_view name) { return is_name(name) && (take(), true); }
  void expect_operator(std::string_view symbol);
  void expect_name(std::string_view name);
  void expect(TokenKind kind);
  std::string take_name(std::string_view what);
  /// Throws DataError "<name>:<line>: expected ..., got <the current token>".
  [[noreturn]] void fail_here(std::string_view expected) const;
  [[noreturn]] void fail(int line, std::string_view message) const;

  /// A level of nesting, for as long as it lives: parsers call themselves.
  class Level {
   public:
    explicit Level(TokenStream& stream) : stream_(&stream) {
      if (++stream.depth_ > kMaxNesting) {
        --stream.depth_;
        stream.fail_nesting();
      }
    }
    ~Level() { --stream_->depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    TokenStream* stream_;
  };

 private:
  static constexpr int kMaxNesting = 200;
  [[noreturn]] void fail_nesting() const;

  std::vector<Token> tokens_;
  std::string name_;
  size_t at_ = 0;
  int depth_ = 0;
};

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

  ExpressionPtr parse() { return conditional(); }
  /// Reads an expression without an inline `if`, which belongs to the tag.
  ExpressionPtr parse_without_if() { return either(); }
  /// Reads one expression, or several with commas between them as a tuple.
  ExpressionPtr parse_tuple(bool with_if = true);
  /// Reads "name(arguments) | name ..." behind a bar, or at once if `is_first_named`.
  ExpressionPtr parse_filters(ExpressionPtr input, bool is_first_named);
  /// While it is above 0, a filter or a test that does not exist is an error only once it is used.
  int in_branch = 0;
  /// The names that change what a macro takes, as far as they were read since the last reset.
  struct MacroNames {
    bool caller = false, varargs = false, kwargs = false;
  };
  MacroNames seen = {};

 private:
  ExpressionPtr conditional();
  ExpressionPtr either();
  ExpressionPtr both();
  ExpressionPtr negation();
  ExpressionPtr comparison();
  ExpressionPtr sum();
  ExpressionPtr concatenation();
  ExpressionPtr product();
  ExpressionPtr power();
  ExpressionPtr unary(bool with_filters = true);
  ExpressionPtr primary();
  ExpressionPtr named_constant();
  ExpressionPtr postfix(ExpressionPtr node);
  ExpressionPtr filter_chain(ExpressionPtr node);
  ExpressionPtr filter(ExpressionPtr input);
  ExpressionPtr test(ExpressionPtr input);
  ExpressionPtr subscript(ExpressionPtr node);
  ExpressionPtr index();
  ExpressionPtr list();
  ExpressionPtr dict();
  CallArguments call_arguments();
  bool at_tuple_end() const;
  template <class Operand>
  ExpressionPtr left_to_right(std::initializer_list<std::string_view> symbols, Operand operand);
  ExpressionPtr make(Expression node);

  TokenStream& tokens_;
};

}  // namespace axle::jinja
