#include "data/row_position.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/json.h"
#include "base/text/utf8.h"

namespace axle {

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
