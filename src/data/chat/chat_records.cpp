#include "data/chat/chat_records.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/error.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "data/source_files.h"

namespace axle {
namespace {

constexpr auto kEndings =
    std::to_array<std::string_view>({".jsonl", ".ndjson", ".json", ".parquet"});
constexpr const char* kNoConversation = "no conversation";

}  // namespace

std::vector<std::string> chat_files(const std::vector<std::string>& named, SkipLog& skips) {
  return source_files(named, kEndings, skips);
}

ChatReader::ChatReader(const std::string& path) : path_(path) {
  const std::string ending = format_ending(path);
  if (ending == ".parquet") {
    try {
      rows_ = std::make_unique<ParquetTexts>(path, kConversationFields);
    } catch (const NoTextColumn& error) {
      throw NotText(error.what(), kNoConversation);
    }
    return;
  }
  if (ending == ".json" && read_list()) return;
  lines_.emplace(path);
  first_ = next();
  // A list that is spread over lines.
  if (first_ && trim(first_->bytes).starts_with('[') && ending != ".json") read_list();
}

// Returns false for lines in a file with the name of a list.
bool ChatReader::read_list() {
  std::string text;
  LineReader lines(path_);
  while (const auto line = lines.next()) {
    text += *line;
    text += '\n';
    if (text.size() > kMaxJsonBytes) {
      throw StorageError(fmt::format(
          "{}: expected a JSON list of at most {} bytes, got more; write one conversation a line",
          path_, kMaxJsonBytes));
    }
    if (lines.number() == 1 && trim(text).starts_with('{') && trim(text).ends_with('}'))
      return false;
  }
  try {
    list_ = read_record_json(text);
  } catch (const JsonError& error) {
    throw NotText(fmt::format("{}: {}", path_, error.what()), kNoConversation);
  }
  if (list_->is_array()) return true;
  throw NotText(fmt::format("{}: expected a list of conversations, got another value", path_),
                kNoConversation);
}

std::optional<RawDocument> ChatReader::next() {
  if (rows_) {
    const auto row = rows_->next();
    if (!row) return std::nullopt;
    return RawDocument{.bytes = std::string(row->text.value_or("null")), .line = rows_->number()};
  }
  if (list_) {
    if (next_ == list_->size()) return std::nullopt;
    RawDocument out{.bytes = (*list_)[next_].dump()};
    out.line = static_cast<int64_t>(++next_);
    return out;
  }
  if (first_) return std::exchange(first_, std::nullopt);
  while (const auto line = lines_->next()) {
    if (trim(*line).empty()) continue;
    return RawDocument{.bytes = std::string(*line), .line = lines_->number()};
  }
  return std::nullopt;
}

std::string conversation_in(const RawDocument& record, ChatFormat format) {
  return messages_of(read_record_json(record.bytes), format).dump();
}

}  // namespace axle
