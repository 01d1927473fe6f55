// Cuts a template into texts and tokens, with the white space around tags removed as Jinja2 does.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/chat/jinja/value.h"

namespace axle::jinja {

/// Returns the text of a literal without its quotes. A mistake is described in `problem`.
std::string unescaped(std::string_view literal, std::string& problem);

enum class TokenKind {
  kData,  // text outside of tags
  kBlockBegin,
  kBlockEnd,
  kVariableBegin,
  kVariableEnd,
  kName,
  kText,  // a quoted text; `text` is its value
  kInteger,
  kFloat,
  kOperator,
  kEnd
};

struct Token {
  TokenKind kind;
  std::string text;
  int line;
};

/// How an Environment of Jinja2 is set up.
struct Dialect {
  /// A block takes the line end behind it, and the spaces before it if it begins its line:
  /// trim_blocks and lstrip_blocks.
  bool trims_blocks = true;
  /// A line end at the end of the template stays: keep_trailing_newline.
  bool keeps_last_line_end = false;
  /// The text, the elements and the truth of an undefined value are errors: StrictUndefined.
  bool is_strict = false;
};
/// As the library transformers sets it up for chat templates.
inline constexpr Dialect kChatDialect = {};

/// Returns the tokens, ended by kEnd. Throws DataError "<name>:<line>: expected ..., got ...".
std::vector<Token> tokens_of(std::string_view source, const std::string& name,
                             const Dialect& dialect = kChatDialect);

/// Returns the value of a text, a number, True, False, None, or a list, tuple or mapping of these,
/// as Python's ast.literal_eval() reads it; none for another text.
std::optional<Value> literal_value(std::string_view text);

}  // namespace axle::jinja
