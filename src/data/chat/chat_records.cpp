#include "data/chat/chat_records.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "data/source_files.h"
#include "io/line_reader.h"
#include "io/parquet/parquet_texts.h"

namespace axle {
namespace {

constexpr auto kEndings =
    std::to_array<std::string_view>({".jsonl", ".ndjson", ".json", ".parquet"});

}  // namespace

ChatRecords::ChatRecords(const std::vector<std::string>& named, ChatFormat format, SkipLog& skips)
    : format_(format), skips_(skips), files_(source_files(named, kEndings, skips)) {}

void ChatRecords::read(const std::string& path, const Take& take) {
  try {
    const std::string ending = format_ending(path);
    ending == ".parquet" ? read_rows(path, take)
    : ending == ".json"  ? read_list(path, take)
                         : read_lines(path, take);
  } catch (const StorageError& error) {
    skips_.refuse("not readable", path, error.what());
  }
}

void ChatRecords::read_lines(const std::string& path, const Take& take) {
  LineReader lines(path);
  bool is_first = true;
  while (const auto line = lines.next()) {
    if (trim(*line).empty()) continue;
    // A list that is spread over lines.
    if (std::exchange(is_first, false) && trim(*line).starts_with('['))
      return read_list(path, take);
    const std::string where = fmt::format("{}:{}", path, lines.number());
    add_text(*line, where, take);
  }
}

void ChatRecords::add_text(std::string_view json, const std::string& where, const Take& take) {
  try {
    add(read_json(json), where, take);
  } catch (const JsonError& error) {
    skips_.refuse("no conversation", where, fmt::format("{}: {}", where, error.what()));
  }
}

void ChatRecords::read_rows(const std::string& path, const Take& take) {
  try {
    ParquetTexts rows(path, kConversationFields);
    while (const auto row = rows.next())
      add_text(row->text.value_or("null"), fmt::format("{}:{}", path, rows.number()), take);
  } catch (const NoTextColumn& error) {
    skips_.refuse("no conversation", path, error.what());
  }
}

// The file is one JSON list; or lines in a file with the name of one.
void ChatRecords::read_list(const std::string& path, const Take& take) {
  std::string text;
  {
    LineReader lines(path);
    while (const auto line = lines.next()) {
      text += *line;
      text += '\n';
      if (text.size() > kMaxJsonBytes) {
        throw StorageError(fmt::format(
            "{}: expected a JSON list of at most {} bytes, got more; write one conversation a line",
            path, kMaxJsonBytes));
      }
      if (lines.number() == 1 && trim(text).starts_with('{') && trim(text).ends_with('}'))
        return read_lines(path, take);
    }
  }
  const auto fail = [&](const std::string& message) {
    skips_.refuse("no conversation", path, fmt::format("{}: {}", path, message));
  };
  nlohmann::ordered_json list;
  try {
    list = read_json(text);
  } catch (const JsonError& error) {
    return fail(error.what());
  }
  text = {};
  if (!list.is_array()) return fail("expected a list of conversations, got another value");
  int64_t number = 0;
  for (const auto& record : list) {
    const std::string where = fmt::format("{}:{}", path, ++number);
    try {
      add(record, where, take);
    } catch (const JsonError& error) {
      skips_.refuse("no conversation", where, fmt::format("{}: {}", where, error.what()));
    }
  }
}

void ChatRecords::add(const nlohmann::ordered_json& record, const std::string& where,
                      const Take& take) {
  take(messages_of(record, format_).dump(), where);
}

}  // namespace axle
