#include "data/remarks.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text/json.h"
#include "base/text/units.h"
#include "base/text/utf8.h"

namespace axle {
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
