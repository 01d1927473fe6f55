#include "data/input.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/units.h"

namespace axle {

std::string to_text(const InputFacts& facts) {
  if (facts.num_files == 0) return {};
  std::string out = counted(facts.num_files, "file");
  if (facts.num_bytes > 0) out += ", " + counted(facts.num_bytes, "byte");
  if (facts.num_without_prompt > 0)
    out += ", " + counted(facts.num_without_prompt, "document") + " without a prompt";
  if (facts.num_cut > 0) out += ", " + counted(facts.num_cut, "conversation") + " cut to fit";
  if (facts.num_unwritten > 0)
    out += ", " + counted(facts.num_unwritten, "answer") + " that the chat template leaves out";
  if (facts.num_truncated > 0)
    out += ", " + counted(facts.num_truncated, "document") + " cut to a row";
  if (facts.skipped.count > 0) out += ", " + to_text(facts.skipped);
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

void add_chat_template(InputFacts& facts, const std::string& text) {
  std::vector<std::string>& all = facts.chat_templates;
  if (!text.empty() && std::ranges::count(all, text) == 0) all.push_back(text);
}

}  // namespace axle
