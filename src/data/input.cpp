#include "data/input.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/json.h"
#include "base/text/text_table.h"
#include "base/text/unicode.h"

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

std::string to_json(const RowPosition& position) {
  return fmt::format(R"({{"fingerprint":"{:016x}","next_row":{}}})", position.fingerprint,
                     position.next_row);
}

int64_t restored_row(std::string_view state, uint64_t fingerprint) {
  const auto [saved_fingerprint, next_row] = json_as<MalformedState>("input state", [&] {
    const auto document = read_json(state);
    const JsonView json(document);
    return std::pair(json.at("fingerprint").text(), json.at("next_row").integer(0, kMaxRow));
  });
  if (const std::string current_fingerprint = fmt::format("{:016x}", fingerprint);
      current_fingerprint != saved_fingerprint) {
    throw DataError(
        fmt::format("input: expected the data of the saved position (fingerprint {}), got other "
                    "data ({}); use the same text, tokenizer, seq_len, shuffle, split and seed, or "
                    "--restart-data to start at the first row",
                    printable(saved_fingerprint), current_fingerprint));
  }
  return next_row;
}

}  // namespace axle
