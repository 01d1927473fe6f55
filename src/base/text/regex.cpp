#include "base/text/regex.h"

#include <fmt/format.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/error.h"
#include "base/text/utf8.h"

namespace axle {
namespace {

constexpr uint32_t kMaxSteps = 1'000'000;
constexpr uint32_t kMaxHeapKib = 16 * 1024;

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

pcre2_match_context* limits() {
  static pcre2_match_context* const all = [] {
    pcre2_match_context* made = pcre2_match_context_create(nullptr);
    pcre2_set_match_limit(made, kMaxSteps);
    pcre2_set_heap_limit(made, kMaxHeapKib);
    return made;
  }();
  return all;
}

}  // namespace

Regex::Regex(std::string_view pattern) : pattern_(pattern) {
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

std::optional<std::vector<std::string>> Regex::run(std::string_view text, uint32_t options) const {
  const auto* code = static_cast<const pcre2_code*>(code_.get());
  const std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data*)> found(
      pcre2_match_data_create_from_pattern(code, nullptr), &pcre2_match_data_free);
  const int groups = pcre2_match(code, units(text), text.size(), 0, options, found.get(), limits());
  if (groups == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (groups < 0) {
    throw ConfigError(fmt::format(
        "expected a regular expression that matches or fails within {} steps, got '{}' for '{}'; "
        "write it without nested repetitions",
        kMaxSteps, printable(pattern_), printable(text)));
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

}  // namespace axle
