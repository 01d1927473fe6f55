#include "data/chat/chat_records.h"

#include "base/text/json.h"
#include "data/source_files.h"

namespace axle {
namespace {

constexpr const char* kNoConversation = "no conversation";

}  // namespace

std::vector<std::string> chat_files(const std::vector<std::string>& named, SkipLog& skips) {
  return source_files(named, kRecordEndings, skips);
}

ChatReader::ChatReader(const std::string& path) {
  if (format_ending(path) != ".parquet") {
    records_.emplace(path, kNoConversation);
    return;
  }
  try {
    rows_ = std::make_unique<ParquetTexts>(path, kConversationFields);
  } catch (const NoTextColumn& error) {
    throw NotText(error.what(), kNoConversation);
  }
}

std::optional<RawDocument> ChatReader::next() {
  if (records_) return records_->next();
  const auto row = rows_->next();
  if (!row) return std::nullopt;
  return RawDocument{.bytes = std::string(row->text.value_or("null")), .line = rows_->number()};
}

std::string conversation_in(const RawDocument& record, ChatFormat format) {
  return messages_of(read_record_json(record.bytes), format).dump();
}

}  // namespace axle
