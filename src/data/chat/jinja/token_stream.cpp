#include "data/chat/jinja/token_stream.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text/utf8.h"

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

}  // namespace axle::jinja
