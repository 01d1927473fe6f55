// Cuts a template into texts and tokens, with the white space around tags removed as Jinja2 does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace axle::jinja {

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

}  // namespace axle::jinja
