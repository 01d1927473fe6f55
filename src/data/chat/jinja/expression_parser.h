// Reads expressions, with the precedence of Jinja2.
#pragma once

#include "data/chat/jinja/syntax.h"
#include "data/chat/jinja/token_stream.h"

namespace axle::jinja {

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
