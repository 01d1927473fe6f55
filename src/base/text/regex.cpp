#include "base/text/regex.h"

#include <fmt/format.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/error.h"
#include "base/text/unicode.h"

namespace axle {
namespace {

constexpr uint32_t kMaxHeapKib = 16 * 1024;

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
  pcre2_set_heap_limit(limits.get(), kMaxHeapKib);
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

}  // namespace axle
