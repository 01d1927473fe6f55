// What a source leaves out, and whether it may.
#pragma once

#include <string>

#include "base/text/enum_text.h"
#include "data/source.h"

namespace axle {

/// What happens to a document that can't be used.
enum class OnError { kFail, kSkip };

constexpr auto texts_of(OnError) {
  return std::to_array<EnumText<OnError>>({{OnError::kFail, "fail"}, {OnError::kSkip, "skip"}});
}

/// Counts what was left out, with the first names and messages.
class SkipLog {
 public:
  /// `policy_path` is the config path of the policy, or its flag "--on-error", for messages.
  SkipLog(OnError on_error, std::string policy_path)
      : on_error_(on_error), policy_path_(std::move(policy_path)) {}
  /// Counts something that is left out whatever the policy. `name` is a path, or "file:line".
  void skip(const std::string& reason, const std::string& name);
  /// Throws DataError with the message and what to do, or counts it if the policy says so.
  void refuse(const std::string& reason, const std::string& name, const std::string& message);
  /// Adds what another log has counted.
  void add(const Skipped& other);
  const Skipped& skipped() const { return skipped_; }

 private:
  OnError on_error_;
  std::string policy_path_;
  Skipped skipped_;
};

}  // namespace axle
