#include "data/chat/jinja/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/text/unicode.h"
#include "data/chat/jinja/interpreter.h"
#include "data/chat/jinja/template.h"
#include "data/chat/jinja/unicode.h"

namespace axle::jinja {
namespace {

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 99;
}

// Returns the character for an escape of one letter; 0 if it is none.
char simple_escape(char c) {
  constexpr std::string_view kLetters = "\\'\"abfnrtv", kMeanings = "\\'\"\a\b\f\n\r\t\v";
  const size_t at = kLetters.find(c);
  return at == kLetters.npos ? '\0' : kMeanings[at];
}

// How Python writes a character beyond ASCII before it reads the escapes.
std::string escaped(char32_t c) {
  const auto number = static_cast<uint32_t>(c);
  return c < 0x100     ? fmt::format("x{:02x}", number)
         : c < 0x10000 ? fmt::format("u{:04x}", number)
                       : fmt::format("U{:08x}", number);
}

}  // namespace

std::string unescaped(std::string_view literal, std::string& problem) {
  std::string out;
  out.reserve(literal.size());
  for (size_t at = 0; at < literal.size();) {
    if (literal[at] != '\\') {
      out += literal[at++];
      continue;
    }
    if (++at >= literal.size()) break;
    const char c = literal[at];
    if (c == '\n') {
      ++at;
    } else if (const char simple = simple_escape(c)) {
      out += simple;
      ++at;
    } else if (c >= '0' && c <= '7') {
      char32_t number = 0;
      for (int i = 0; i < 3 && at < literal.size() && digit_of(literal[at]) < 8; ++i, ++at)
        number = number * 8 + static_cast<char32_t>(digit_of(literal[at]));
      append_utf8(out, number);
    } else if (c == 'x' || c == 'u' || c == 'U') {
      const int size = c == 'x' ? 2 : c == 'u' ? 4 : 8;
      uint64_t number = 0;
      ++at;
      for (int i = 0; i < size; ++i, ++at) {
        if (at >= literal.size() || digit_of(literal[at]) > 15) {
          problem = fmt::format("an escape \\{} without {} hexadecimal digits", c, size);
          return {};
        }
        number = number * 16 + static_cast<uint64_t>(digit_of(literal[at]));
      }
      if (number > 0x10ffff || (number >= 0xd800 && number <= 0xdfff)) {
        problem = fmt::format("an escape of {:#x}, which is no character", number);
        return {};
      }
      append_utf8(out, static_cast<char32_t>(number));
    } else if (c == 'N') {
      problem = "an escape \\N, which is not supported";
      return {};
    } else if (static_cast<unsigned char>(c) < 0x80) {
      out += '\\';
      out += c;
      ++at;
    } else {
      out += '\\' + escaped(next_character(literal, at));
    }
  }
  return out;
}

namespace {

// Line ends of all systems become \n; one at the end of the template may be dropped.
std::string normalized(std::string_view source, bool keeps_last) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n') continue;
    out += source[i] == '\r' ? '\n' : source[i];
  }
  if (!keeps_last && out.ends_with('\n')) out.pop_back();
  return out;
}

constexpr auto kOperators = std::to_array<std::string_view>(
    {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
     "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"});

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  Lexer(std::string_view source, const std::string& name, const Dialect& dialect)
      : source_(normalized(source, dialect.keeps_last_line_end)),
        name_(name),
        trims_blocks_(dialect.trims_blocks) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) {
      const size_t tag = next_tag();
      if (tag == source_.npos) {
        add(TokenKind::kData, source_.substr(at_));
        line_ += count_lines(at_, source_.size());
        break;
      }
      open(tag);
    }
    add(TokenKind::kEnd, {});
    return std::move(tokens_);
  }

 private:
  struct BracketAt {
    char close;
    int line;
  };

  [[noreturn]] void fail(const std::string& expected, const std::string& got) const {
    throw DataError(fmt::format("{}:{}: expected {}, got {}", name_, line_, expected, got));
  }
  int count_lines(size_t begin, size_t end) const {
    return static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(begin),
                                       source_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
  }
  void add(TokenKind kind, std::string text) {
    if (kind == TokenKind::kData && text.empty()) return;
    tokens_.push_back({kind, std::move(text), line_});
  }
  bool starts(size_t at, std::string_view what) const {
    return std::string_view(source_).substr(std::min(at, source_.size())).starts_with(what);
  }
  size_t skip_spaces(size_t at) const {
    while (at < source_.size()) {
      size_t next = at;
      if (!is_space(next_character(source_, next))) break;
      at = next;
    }
    return at;
  }

  size_t next_tag() const {
    for (size_t at = source_.find('{', at_); at != source_.npos; at = source_.find('{', at + 1)) {
      if (starts(at, "{%") || starts(at, "{{") || starts(at, "{#")) return at;
    }
    return source_.npos;
  }

  // Adds the text before a tag, stripped as the tag's sign asks for.
  void add_text(size_t tag, char sign, bool strips_line) {
    std::string_view text = std::string_view(source_).substr(at_, tag - at_);
    const size_t begin_of_line = text.rfind('\n') + 1;  // npos + 1 is 0
    if (sign == '-') {
      text = stripped(text, Sides::kRight);
    } else if (sign != '+' && strips_line && trims_blocks_ &&
               (begin_of_line > 0 || at_line_begin_)) {
      if (stripped(text.substr(begin_of_line)).empty()) text = text.substr(0, begin_of_line);
    }
    add(TokenKind::kData, std::string(text));
    line_ += count_lines(at_, tag);
    at_ = tag;
  }

  // Moves behind a tag's end. Only blocks and comments take the line end behind them.
  void close(size_t end_size, char sign, bool takes_line_end) {
    const size_t begin = at_;
    at_ += end_size;
    if (sign == '-')
      at_ = skip_spaces(at_);
    else if (sign != '+' && takes_line_end && trims_blocks_ && starts(at_, "\n"))
      ++at_;
    line_ += count_lines(begin, at_);
    at_line_begin_ = source_[at_ - 1] == '\n';
  }

  char sign_at(size_t at) const {
    return at < source_.size() && (source_[at] == '-' || source_[at] == '+') ? source_[at] : 0;
  }

  void open(size_t tag) {
    const char kind = source_[tag + 1];
    const char sign = sign_at(tag + 2);
    if (kind == '%' && open_raw(tag, sign)) return;
    add_text(tag, sign, kind != '{');
    at_ += sign ? 3 : 2;
    if (kind == '#') return skip_comment();
    const bool is_block = kind == '%';
    add(is_block ? TokenKind::kBlockBegin : TokenKind::kVariableBegin, {});
    inside(is_block);
  }

  void skip_comment() {
    const size_t end = source_.find("#}", at_);
    if (end == source_.npos) fail("'#}' at the end of a comment", "the end of the template");
    const char sign = end > at_ ? sign_at(end - 1) : 0;
    line_ += count_lines(at_, end);
    at_ = end;
    close(2, sign, true);
  }

  // Matches "raw" and the end of its tag; none if this is another tag.
  std::optional<size_t> end_of_raw_tag(size_t at, std::string_view word) const {
    at = skip_spaces(at);
    if (!starts(at, word)) return std::nullopt;
    return skip_spaces(at + word.size());
  }

  bool open_raw(size_t tag, char sign) {
    const auto end = end_of_raw_tag(tag + (sign ? 3 : 2), "raw");
    if (!end || (!starts(*end, "%}") && !starts(*end, "-%}"))) return false;
    add_text(tag, sign, true);
    line_ += count_lines(at_, *end);
    const char close_sign = sign_at(*end);
    at_ = *end + (close_sign ? 1 : 0);
    close(2, close_sign, false);
    for (size_t at = source_.find("{%", at_); at != source_.npos; at = source_.find("{%", at + 1)) {
      const char begin_sign = sign_at(at + 2);
      const auto close_at = end_of_raw_tag(at + (begin_sign ? 3 : 2), "endraw");
      if (!close_at) continue;
      const char end_sign = sign_at(*close_at);
      if (!starts(*close_at + (end_sign ? 1 : 0), "%}")) continue;
      add_text(at, begin_sign, true);
      line_ += count_lines(at_, *close_at);
      at_ = *close_at + (end_sign ? 1 : 0);
      close(2, end_sign, true);
      return true;
    }
    fail("'{% endraw %}'", "the end of the template");
  }

  void inside(bool is_block) {
    brackets_.clear();
    const std::string_view end = is_block ? "%}" : "}}";
    while (true) {
      const size_t begin = at_;
      at_ = skip_spaces(at_);
      line_ += count_lines(begin, at_);
      if (at_ >= source_.size()) fail(fmt::format("'{}'", end), "the end of the template");
      if (brackets_.empty()) {
        const char sign = sign_at(at_);
        // Only a block may end with a plus.
        if (sign && (sign == '-' || is_block) && starts(at_ + 1, end)) {
          ++at_;
          return finish(is_block, sign);
        }
        if (starts(at_, end)) return finish(is_block, 0);
      }
      take_token();
    }
  }

  void finish(bool is_block, char sign) {
    add(is_block ? TokenKind::kBlockEnd : TokenKind::kVariableEnd, {});
    close(2, sign, is_block);
  }

  void take_token() {
    const char c = source_[at_];
    if (is_digit(c)) return take_number();
    if (c == '"' || c == '\'') return take_text(c);
    size_t end = at_;
    while (end < source_.size()) {
      size_t next = end;
      if (!is_word_part(next_character(source_, next))) break;
      end = next;
    }
    if (end > at_) {
      add(TokenKind::kName, source_.substr(at_, end - at_));
      at_ = end;
      return;
    }
    for (const std::string_view symbol : kOperators) {
      if (starts(at_, symbol)) return take_operator(symbol);
    }
    fail("a name, a value or an operator",
         fmt::format("'{}'", printable(source_.substr(
                                 at_, character_bytes(std::string_view(source_).substr(at_))))));
  }

  void take_operator(std::string_view symbol) {
    if (symbol == "(" || symbol == "[" || symbol == "{") {
      brackets_.push_back({symbol == "(" ? ')' : symbol == "[" ? ']' : '}', line_});
    } else if (symbol == ")" || symbol == "]" || symbol == "}") {
      if (brackets_.empty()) fail("no closing bracket", fmt::format("'{}'", symbol));
      if (brackets_.back().close != symbol[0]) {
        fail(fmt::format("'{}' for the bracket of line {}", brackets_.back().close,
                         brackets_.back().line),
             fmt::format("'{}'", symbol));
      }
      brackets_.pop_back();
    }
    add(TokenKind::kOperator, std::string(symbol));
    at_ += symbol.size();
  }

  // Digits may be parted by single underscores.
  size_t digits_from(size_t at, std::string_view digits = "0123456789") const {
    const auto is_one = [&](size_t i) {
      return i < source_.size() && digits.find(source_[i]) != digits.npos;
    };
    if (!is_one(at)) return at;
    while (is_one(at) || (at < source_.size() && source_[at] == '_' && is_one(at + 1))) ++at;
    return at;
  }

  void take_number() {
    const std::string_view rest = std::string_view(source_).substr(at_);
    if (rest.size() > 2 && rest[0] == '0') {
      const char base = static_cast<char>(rest[1] | 0x20);
      const std::string_view digits = base == 'x'   ? "0123456789abcdefABCDEF"
                                      : base == 'o' ? "01234567"
                                      : base == 'b' ? "01"
                                                    : "";
      size_t begin = at_ + 2;
      if (source_[begin] == '_') ++begin;
      if (const size_t end = digits_from(begin, digits); end > begin) return add_number(end, false);
    }
    size_t end = digits_from(at_);
    bool is_float = false;
    if (source_[at_ - 1] == '.') return add_number(end, false);  // x.1.2
    if (end < source_.size() && source_[end] == '.' && digits_from(end + 1) > end + 1) {
      is_float = true;
      end = digits_from(end + 1);
    }
    if (end < source_.size() && (source_[end] | 0x20) == 'e') {
      size_t exponent = end + 1;
      if (sign_at(exponent)) ++exponent;
      if (digits_from(exponent) > exponent) {
        is_float = true;
        end = digits_from(exponent);
      }
    }
    add_number(end, is_float);
  }

  void add_number(size_t end, bool is_float) {
    std::string text = source_.substr(at_, end - at_);
    std::erase(text, '_');
    add(is_float ? TokenKind::kFloat : TokenKind::kInteger, std::move(text));
    at_ = end;
  }

  void take_text(char quote) {
    size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size())
      fail(fmt::format("a closing {} of the text", quote), "the end of the template");
    const std::string_view literal = std::string_view(source_).substr(at_ + 1, end - at_ - 1);
    std::string problem;
    std::string text = unescaped(literal, problem);
    if (!problem.empty()) fail("a text", problem);
    add(TokenKind::kText, std::move(text));
    line_ += count_lines(at_, end);
    at_ = end + 1;
  }

  std::string source_;
  std::string name_;
  bool trims_blocks_;
  size_t at_ = 0;
  int line_ = 1;
  bool at_line_begin_ = true;
  std::vector<BracketAt> brackets_;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view source, const std::string& name,
                             const Dialect& dialect) {
  if (const auto bad = find_invalid_utf8(source)) {
    const auto line = std::ranges::count(source.substr(0, *bad), '\n') + 1;
    throw DataError(fmt::format("{}:{}: expected UTF-8, got the byte {:#x}", name, line,
                                static_cast<unsigned char>(source[*bad])));
  }
  return Lexer(source, name, dialect).run();
}

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
