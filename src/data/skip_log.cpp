#include "data/skip_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/text/utf8.h"

namespace axle {
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

}  // namespace axle
