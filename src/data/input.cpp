#include "data/input.h"

#include <fmt/format.h>

#include "base/text/units.h"

namespace axle {

std::string to_text(const InputFacts& facts) {
  if (facts.num_files == 0) return {};
  std::string out = counted(facts.num_files, "file");
  if (facts.num_bytes > 0) out += ", " + counted(facts.num_bytes, "byte");
  if (facts.num_without_prompt > 0)
    out += ", " + counted(facts.num_without_prompt, "document") + " without a prompt";
  for (const std::string& remark : facts.remarks.texts()) out += ", " + remark;
  for (const std::string& end : facts.spelled_ends) out += ", " + spelled_end_text(end);
  if (facts.num_truncated > 0)
    out += ", " + counted(facts.num_truncated, "document") + " cut to a row";
  if (facts.skipped.count > 0) out += ", " + to_text(facts.skipped);
  if (const auto& files = facts.without_tokenizer; !files.empty()) {
    const std::string who = files.size() == 1
                                ? files[0] + " does not say which tokenizer its"
                                : fmt::format("{} and {} more do not say which tokenizer their",
                                              files[0], files.size() - 1);
    out += fmt::format("; {} ids are of: the model's is taken", who);
  }
  return out;
}

void add_long(InputFacts& facts, int64_t count, bool are_left_out) {
  if (count == 0) return;
  if (!are_left_out) {
    facts.num_truncated += count;
    return;
  }
  facts.skipped.count += count;
  facts.skipped.reasons["longer than a row"] += count;
}

}  // namespace axle
