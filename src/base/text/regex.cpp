#include "base/text/regex.h"

#include <fmt/format.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/error.h"
#include "base/text/unicode.h"

namespace axle {
namespace {

constexpr uint32_t kMatchHeapKib = 16 * 1024;

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

}  // namespace

Regex::Regex(std::string_view pattern, uint32_t max_steps)
    : pattern_(pattern), max_steps_(max_steps) {
  int error = 0;
  size_t at = 0;
  pcre2_code* code = pcre2_compile(units(pattern), pattern.size(), 0, &error, &at, nullptr);
  if (!code) {
    unsigned char reason[128] = {};
    pcre2_get_error_message(error, reason, sizeof reason);
    throw ConfigError(fmt::format("expected a regular expression, got '{}' ({})",
                                  printable(pattern), reinterpret_cast<const char*>(reason)));
  }
  code_ =
      std::shared_ptr<void>(code, [](void* p) { pcre2_code_free(static_cast<pcre2_code*>(p)); });
}

uint32_t Regex::num_groups() const {
  uint32_t count = 0;
  pcre2_pattern_info(static_cast<const pcre2_code*>(code_.get()), PCRE2_INFO_CAPTURECOUNT, &count);
  return count;
}

std::optional<std::vector<std::string>> Regex::run(std::string_view text, uint32_t options) const {
  const auto* code = static_cast<const pcre2_code*>(code_.get());
  const std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data*)> found(
      pcre2_match_data_create_from_pattern(code, nullptr), &pcre2_match_data_free);
  const std::unique_ptr<pcre2_match_context, void (*)(pcre2_match_context*)> limits(
      pcre2_match_context_create(nullptr), &pcre2_match_context_free);
  pcre2_set_match_limit(limits.get(), max_steps_);
  pcre2_set_heap_limit(limits.get(), kMatchHeapKib);
  const int groups =
      pcre2_match(code, units(text), text.size(), 0, options, found.get(), limits.get());
  if (groups == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (groups < 0) {
    throw ConfigError(fmt::format(
        "expected a regular expression that matches or fails within {} steps, got '{}' for '{}'; "
        "write it without nested repetitions",
        max_steps_, printable(pattern_), printable(text)));
  }
  const size_t* ends = pcre2_get_ovector_pointer(found.get());
  std::vector<std::string> out(pcre2_get_ovector_count(found.get()));
  for (size_t i = 0; i < static_cast<size_t>(groups); ++i) {
    if (ends[2 * i] != PCRE2_UNSET)
      out[i] = text.substr(ends[2 * i], ends[2 * i + 1] - ends[2 * i]);
  }
  return out;
}

std::optional<std::vector<std::string>> Regex::match(std::string_view text) const {
  return run(text, PCRE2_ANCHORED | PCRE2_ENDANCHORED);
}

std::optional<std::vector<std::string>> Regex::search(std::string_view text) const {
  return run(text, 0);
}

// Regular expressions of tokenizers.
namespace {

constexpr uint32_t kMaxSteps = 50'000'000, kMaxHeapKib = 64 * 1024;
constexpr size_t kStackBytes = size_t{32} << 10, kMaxStackBytes = size_t{16} << 20;
// What \w stands for, inside of a class. In Rust, two characters that join others belong to it.
constexpr std::string_view kWord = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})",
                           kRustWord = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d})",
                           kPythonWord = R"(\p{L}\p{N}_)";

// Machine code needs this memory during a match only, and to get it takes longer than a match.
pcre2_jit_stack* stack_of_thread(void*) {
  thread_local const std::unique_ptr<pcre2_jit_stack, void (*)(pcre2_jit_stack*)> stack(
      pcre2_jit_stack_create(kStackBytes, kMaxStackBytes, nullptr), &pcre2_jit_stack_free);
  return stack.get();
}

[[noreturn]] void fail(std::string_view pattern, std::string_view why) {
  throw ConfigError(
      fmt::format("expected a regular expression, got '{}' ({})", printable(pattern, 200), why));
}

// Rewrites a pattern from front to back.
class Translator {
 public:
  Translator(std::string_view pattern, RegexSyntax syntax) : pattern_(pattern), syntax_(syntax) {}

  std::string translate() {
    std::string out;
    while (at_ < pattern_.size()) out += pattern_[at_] == '[' ? char_class() : item(false);
    return out;
  }

 private:
  bool has(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }

  // One character or escape.
  std::string item(bool in_class) {
    if (pattern_[at_] != '\\' || at_ + 1 == pattern_.size()) return std::string(1, pattern_[at_++]);
    const char letter = pattern_[at_ + 1];
    at_ += 2;
    const bool is_oniguruma = syntax_ == RegexSyntax::kOniguruma,
               is_python = syntax_ == RegexSyntax::kPython;
    if (is_python && letter == 'Z') return R"(\z)";
    if (letter == 's') return R"(\p{White_Space})";
    if (letter == 'S') return R"(\P{White_Space})";
    const std::string_view word = is_oniguruma ? kWord : is_python ? kPythonWord : kRustWord;
    if (letter == 'w') return in_class ? std::string(word) : fmt::format("[{}]", word);
    if (letter == 'W' && !in_class) return fmt::format("[^{}]", word);
    if (letter == 'h' && is_oniguruma) return in_class ? "0-9a-fA-F" : "[0-9a-fA-F]";
    if (letter == 'H' && is_oniguruma && !in_class) return "[^0-9a-fA-F]";
    if (letter == 'W' || (letter == 'H' && is_oniguruma))
      fail(pattern_, fmt::format("\\{} inside of [] is not supported", letter));
    if (letter == 'u' && pattern_.size() - at_ >= 4) {
      at_ += 4;
      return fmt::format(R"(\x{{{}}})", pattern_.substr(at_ - 4, 4));
    }
    return {'\\', letter};
  }

  // A class in brackets; an intersection with others becomes a class behind lookaheads.
  std::string char_class(int depth = 0) {
    if (depth > 8) fail(pattern_, "classes in classes are too deep");
    std::string out(1, pattern_[at_++]), also;
    if (at_ < pattern_.size() && pattern_[at_] == '^') out += pattern_[at_++];
    if (at_ < pattern_.size() && pattern_[at_] == ']') {
      out += R"(\])";
      ++at_;
    }
    while (at_ < pattern_.size() && pattern_[at_] != ']') {
      if (syntax_ == RegexSyntax::kPython && pattern_[at_] == '[') {
        out += R"(\[)";  // stands for itself
        ++at_;
      } else if (syntax_ == RegexSyntax::kPython) {
        out += item(true);
      } else if (has("[:")) {
        const size_t end = pattern_.find(":]", at_);
        if (end == pattern_.npos) fail(pattern_, "missing :]");
        out += pattern_.substr(at_, end + 2 - at_);
        at_ = end + 2;
      } else if (has("&&[") && out[1] != '^') {
        at_ += 2;
        also += fmt::format("(?={})", char_class(depth + 1));
        if (!has("]")) fail(pattern_, "a class of this form is not supported");
      } else if (has("&&") || pattern_[at_] == '[') {
        fail(pattern_, "a class of this form is not supported");
      } else {
        out += item(true);
      }
    }
    if (at_ == pattern_.size()) fail(pattern_, "missing ]");
    ++at_;
    return also.empty() ? out + "]" : fmt::format("(?:{}{}])", also, out);
  }

  std::string_view pattern_;
  RegexSyntax syntax_;
  size_t at_ = 0;
};

}  // namespace

std::string detail::to_pcre2(std::string_view pattern, RegexSyntax syntax) {
  return Translator(pattern, syntax).translate();
}

UnicodeRegex::UnicodeRegex(std::string_view pattern, RegexSyntax syntax) : pattern_(pattern) {
  if (find_invalid_utf8(pattern)) fail(pattern, "not UTF-8");
  const std::string translated = detail::to_pcre2(pattern, syntax);
  const uint32_t ends = syntax == RegexSyntax::kOniguruma ? PCRE2_MULTILINE
                        : syntax == RegexSyntax::kRust    ? PCRE2_DOLLAR_ENDONLY
                                                          : 0;
  const std::unique_ptr<pcre2_compile_context, void (*)(pcre2_compile_context*)> context(
      pcre2_compile_context_create(nullptr), &pcre2_compile_context_free);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  size_t at = 0;
  pcre2_code* code = pcre2_compile(units(translated), translated.size(),
                                   PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C | ends, &error,
                                   &at, context.get());
  if (!code) {
    unsigned char reason[128] = {};
    pcre2_get_error_message(error, reason, sizeof reason);
    fail(pattern, reinterpret_cast<const char*>(reason));
  }
  code_ =
      std::shared_ptr<void>(code, [](void* p) { pcre2_code_free(static_cast<pcre2_code*>(p)); });
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // without it, matches are only slower
}

UnicodeRegex::Finder::Finder(const UnicodeRegex& regex, std::string_view text)
    : regex_(&regex), text_(text) {
  const auto* code = static_cast<const pcre2_code*>(regex.code_.get());
  data_ = std::shared_ptr<void>(pcre2_match_data_create_from_pattern(code, nullptr), [](void* p) {
    pcre2_match_data_free(static_cast<pcre2_match_data*>(p));
  });
  auto* context = pcre2_match_context_create(nullptr);
  context_ = std::shared_ptr<void>(
      context, [](void* p) { pcre2_match_context_free(static_cast<pcre2_match_context*>(p)); });
  pcre2_jit_stack_assign(context, &stack_of_thread, nullptr);
  pcre2_set_match_limit(context, kMaxSteps);
  pcre2_set_heap_limit(context, kMaxHeapKib);
}

void UnicodeRegex::Finder::start(std::string_view text) {
  text_ = text;
  from_ = 0;
  last_end_.reset();
}

std::optional<UnicodeRegex::Match> UnicodeRegex::Finder::next() {
  const auto* code = static_cast<const pcre2_code*>(regex_->code_.get());
  auto* data = static_cast<pcre2_match_data*>(data_.get());
  while (from_ <= text_.size()) {
    const int result = pcre2_match(code, units(text_), text_.size(), from_, PCRE2_NO_UTF_CHECK,
                                   data, static_cast<pcre2_match_context*>(context_.get()));
    if (result == PCRE2_ERROR_NOMATCH) break;
    if (result < 0) {
      throw DataError(
          fmt::format("expected a pattern that matches or fails within {} steps, got '{}' for a "
                      "text of {} bytes",
                      kMaxSteps, printable(regex_->pattern_), text_.size()));
    }
    const size_t* ends = pcre2_get_ovector_pointer(data);
    const Match match{ends[0], ends[1]};
    if (match.begin >= match.end && last_end_ == match.end) {
      if (from_ == text_.size()) break;
      from_ += first_code_point(text_.substr(from_)).size;
      continue;
    }
    from_ = match.end;
    last_end_ = match.end;
    return match;
  }
  from_ = text_.size() + 1;
  return std::nullopt;
}

std::vector<std::string_view> UnicodeRegex::Finder::groups() const {
  auto* data = static_cast<pcre2_match_data*>(data_.get());
  const size_t* ends = pcre2_get_ovector_pointer(data);
  std::vector<std::string_view> out(pcre2_get_ovector_count(data) - 1);
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t begin = ends[2 * i + 2], end = ends[2 * i + 3];
    if (begin != PCRE2_UNSET) out[i] = text_.substr(begin, end - begin);
  }
  return out;
}

}  // namespace axle
