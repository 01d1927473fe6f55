// Cuts a template into texts and tokens, with the white space around tags removed as Jinja2 does
// with trim_blocks and lstrip_blocks.
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

/// Returns the tokens, ended by kEnd. Throws DataError "<name>:<line>: expected ..., got ...".
std::vector<Token> tokens_of(std::string_view source, const std::string& name);

}  // namespace axle::jinja
