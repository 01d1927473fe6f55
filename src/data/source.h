// The role Source: the origin of documents.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/text.h"

namespace axle {

/// A text that belongs together. A model never attends from one document to another.
struct Document {
  std::string_view text;  // valid UTF-8, not empty; lives as long as the source
  std::string where;      // "file:line" of the beginning
};

/// What was left out, shown to the user: documents that can't be used and files that are not text.
struct Skipped {
  int64_t count = 0;
  std::map<std::string, int64_t> reasons = {};  // "not UTF-8" -> number of documents
  /// The first names of each reason: of files, or "file:line" of documents.
  std::map<std::string, std::vector<std::string>> names = {};
  std::vector<std::string> messages = {};  // messages of the first hundred documents
};
/// Writes "3 skipped (2 not *.txt: a.md, b.csv; 1 not UTF-8: c.txt)"; "" if nothing was skipped.
std::string to_text(const Skipped& skipped);

/// A fixed sequence of documents: the same files yield the same documents in the same order.
class Source {
 public:
  using Role = Source;
  struct Dims {};
  virtual ~Source() = default;
  virtual const std::vector<Document>& documents() const = 0;
  virtual const Skipped& skipped() const = 0;
  /// Returns the number of files that documents were read from.
  virtual int64_t num_files() const { return 0; }
};

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
  /// Counts something that is left out under any policy. `name` is a path, or "file:line".
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

/// Why a text can't be used, as a SkipLog counts it.
struct BadText {
  std::string reason;   // "not UTF-8"
  std::string where;    // "file:line" of the first bad byte
  std::string message;  // with the byte within the line, from 1
};

/// Returns the first byte that is not text: a NUL, or the first invalid UTF-8.
std::optional<size_t> first_bad_byte(std::string_view text);
/// Returns what is wrong with the text that begins at a line of a file.
std::optional<BadText> bad_text(const std::string& path, int64_t line, std::string_view text);

class JsonView;

/// What is remarked of documents that are used.
enum class Remark {
  kCut,             // conversations whose end did not fit into a row
  kUnwritten,       // answers that the chat template leaves out
  kUnwrittenOther,  // other messages that it leaves out
  kEmpty,           // answers without a text and without calls, which are learned as such
  kNamed,           // texts with names of special tokens, which stay text
};
inline constexpr size_t kNumRemarks = 5;

/// A count for each remark.
class Remarks {
 public:
  int64_t& operator[](Remark remark) { return counts_[static_cast<size_t>(remark)]; }
  int64_t operator[](Remark remark) const { return counts_[static_cast<size_t>(remark)]; }
  Remarks& operator+=(const Remarks& other);
  /// Sets each count to that of the other where it is more.
  void raise_to(const Remarks& other);
  bool operator==(const Remarks&) const = default;

  /// Returns "2 conversations cut to fit", "1 empty answer" for those that were made.
  std::vector<std::string> texts() const;
  /// Adds a field for each count, also for 0: PREFIX + "cut", "unwritten", "unwritten_other",
  /// "empty", "named".
  void add_to(nlohmann::ordered_json& object, std::string_view prefix = "") const;
  /// Reads the fields that add_to() writes, as far as they are there. Throws JsonError.
  static Remarks of(const JsonView& object);

 private:
  std::array<int64_t, kNumRemarks> counts_ = {};
};

/// Returns "answers that end with '<|im_end|>', which the tokenizer spells".
std::string spelled_end_text(std::string_view end);

}  // namespace axle
