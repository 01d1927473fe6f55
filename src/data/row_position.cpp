#include "data/row_position.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace axle {

std::string to_json(const RowPosition& position) {
  return fmt::format(R"({{"fingerprint":"{:016x}","next_row":{}}})", position.fingerprint,
                     position.next_row);
}

int64_t restored_row(std::string_view state, uint64_t fingerprint) {
  const auto json = nlohmann::json::parse(state, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("fingerprint") || !json["fingerprint"].is_string() ||
      !json.contains("next_row") || !json["next_row"].is_number_unsigned()) {
    throw DataError(fmt::format("input state: expected fingerprint and next_row, got '{}'", state));
  }
  const std::string ours = fmt::format("{:016x}", fingerprint), theirs = json["fingerprint"];
  if (ours != theirs) {
    throw DataError(fmt::format(
        "input: expected the data that the saved position belongs to (fingerprint {}), got other "
        "data ({}); use the same text, tokenizer, seq_len, shuffle, split and seed",
        theirs, ours));
  }
  return json["next_row"].get<int64_t>();
}

}  // namespace axle
