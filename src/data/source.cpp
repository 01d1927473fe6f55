#include "data/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "base/text/text_table.h"
#include "base/text/unicode.h"

namespace axle {

std::string to_text(const Skipped& skipped) {
  if (skipped.count == 0) return {};
  std::vector<std::string> reasons;
  for (const auto& [reason, count] : skipped.reasons) {
    const auto named = skipped.names.find(reason);
    if (named == skipped.names.end() || named->second.empty()) {
      reasons.push_back(fmt::format("{} {}", count, reason));
      continue;
    }
    const bool are_all = std::ssize(named->second) == count;
    reasons.push_back(fmt::format("{} {}: {}{}", count, reason, join(named->second, ", "),
                                  are_all ? "" : ", ..."));
  }
  return fmt::format("{} skipped ({})", skipped.count, join(reasons, "; "));
}

namespace {

constexpr size_t kMaxNames = 3, kMaxMessages = 100;

}  // namespace

void SkipLog::skip(const std::string& reason, const std::string& name) {
  ++skipped_.count;
  ++skipped_.reasons[reason];
  std::vector<std::string>& names = skipped_.names[reason];
  if (names.size() < kMaxNames)
    names.push_back(printable(std::filesystem::path(name).filename().string()));
}

void SkipLog::refuse(const std::string& reason, const std::string& name,
                     const std::string& message) {
  // A source of a verb's flag --data has its policy in another flag.
  const bool is_flag = policy_path_.starts_with("--");
  if (on_error_ == OnError::kFail) {
    const std::string way = is_flag ? "--on-error " : "--set " + policy_path_ + "=";
    throw DataError(fmt::format("{}; {}skip leaves it out", message, way));
  }
  skip(reason, name);
  if (skipped_.messages.size() < kMaxMessages)
    skipped_.messages.push_back(
        fmt::format("{} ({}skip)", message, is_flag ? "--on-error " : policy_path_ + " = "));
}

void SkipLog::add(const Skipped& other) {
  skipped_.count += other.count;
  for (const auto& [reason, count] : other.reasons) skipped_.reasons[reason] += count;
  for (const auto& [reason, names] : other.names) {
    std::vector<std::string>& all = skipped_.names[reason];
    for (const std::string& name : names) {
      if (all.size() < kMaxNames) all.push_back(name);
    }
  }
  for (const std::string& message : other.messages) {
    if (skipped_.messages.size() < kMaxMessages) skipped_.messages.push_back(message);
  }
}

std::optional<size_t> first_bad_byte(std::string_view text) {
  const size_t bad = std::min(find_invalid_utf8(text).value_or(text.npos), text.find('\0'));
  return bad == text.npos ? std::nullopt : std::optional(bad);
}

std::optional<BadText> bad_text(const std::string& path, int64_t line, std::string_view text) {
  const auto bad = first_bad_byte(text);
  if (!bad) return std::nullopt;
  const std::string_view before = text.substr(0, *bad);
  const size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  const bool is_nul = text[*bad] == '\0';
  std::string where = fmt::format("{}:{}", path, line + std::ranges::count(before, '\n'));
  std::string message =
      fmt::format("{}: {} at byte {}", where,
                  is_nul ? "a NUL, which is no text," : "not valid UTF-8", *bad - line_begin + 1);
  return BadText{is_nul ? "with NUL bytes" : "not UTF-8", std::move(where), std::move(message)};
}

namespace {

struct Words {
  const char *field, *noun, *behind;
};

constexpr auto kWords = std::to_array<Words>({
    {"cut", "conversation", " cut to fit"},
    {"unwritten", "answer", " that the chat template leaves out"},
    {"unwritten_other", "prompt message", " that the chat template leaves out"},
    {"empty", "empty answer", ""},
    {"named", "text", " with names of special tokens, which stay text"},
});
static_assert(kWords.size() == kNumRemarks);

}  // namespace

Remarks& Remarks::operator+=(const Remarks& other) {
  for (size_t i = 0; i < kNumRemarks; ++i) counts_[i] += other.counts_[i];
  return *this;
}

void Remarks::raise_to(const Remarks& other) {
  for (size_t i = 0; i < kNumRemarks; ++i) counts_[i] = std::max(counts_[i], other.counts_[i]);
}

std::vector<std::string> Remarks::texts() const {
  std::vector<std::string> out;
  for (size_t i = 0; i < kNumRemarks; ++i) {
    if (counts_[i] > 0) out.push_back(counted(counts_[i], kWords[i].noun) + kWords[i].behind);
  }
  return out;
}

void Remarks::add_to(nlohmann::ordered_json& object, std::string_view prefix) const {
  for (size_t i = 0; i < kNumRemarks; ++i)
    object[std::string(prefix) + kWords[i].field] = counts_[i];
}

Remarks Remarks::of(const JsonView& object) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 8;
  Remarks out;
  for (size_t i = 0; i < kNumRemarks; ++i) {
    if (const auto found = object.find(kWords[i].field)) out.counts_[i] = found->integer(0, kMost);
  }
  return out;
}

std::string spelled_end_text(std::string_view end) {
  return fmt::format("answers that end with '{}', which the tokenizer spells", printable(end, 40));
}

}  // namespace axle
