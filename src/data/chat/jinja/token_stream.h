// The tokens of a template in the hands of a parser.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/chat/jinja/lexer.h"

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

}  // namespace axle::jinja
