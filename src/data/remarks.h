// Documents that are used otherwise than a user may expect, counted.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace axle {

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
