#include "data/chat/chat_source.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "config/register.h"
#include "data/text_source.h"
#include "data/token_files/corpus_reader.h"

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

ChatSource::ChatSource(const Config& cfg, const Dims&, const Scope& scope)
    : skips_(cfg.on_error, fmt::format("{}.on_error", scope.path)) {
  const std::vector<std::string> named = named_texts(cfg.path.get(), cfg.more_paths, scope.path);
  for (const std::string& path : chat_files(named, skips_)) {
    const size_t before = documents_.size();
    read_or_leave_out(path, skips_, [&] {
      ChatReader reader(path);
      while (const auto record = reader.next()) {
        const std::string where = fmt::format("{}:{}", path, record->line);
        try {
          add(conversation_in(*record, cfg.format), where);
        } catch (const JsonError& error) {
          skips_.refuse("no conversation", where, fmt::format("{}: {}", where, error.what()));
        }
      }
    });
    num_files_ += documents_.size() > before;
  }
  if (documents_.empty()) {
    throw DataError(fmt::format("{}: expected conversations, got none{}{}", join(named, ", "),
                                skipped().count > 0 ? "; " : "", to_text(skipped())));
  }
}

void ChatSource::add(std::string conversation, std::string where) {
  num_bytes_ += static_cast<int64_t>(conversation.size() + sizeof(Document) + where.size());
  constexpr int64_t kPricedAtOnce = int64_t{64} << 20;
  if (num_bytes_ > num_priced_bytes_) {
    check_host_allocation(where, "more conversations", kPricedAtOnce);
    num_priced_bytes_ = num_bytes_ + kPricedAtOnce;
  }
  texts_.push_back(std::move(conversation));
  documents_.push_back({texts_.back(), std::move(where)});
}

AXLE_REGISTER(ChatSource)

}  // namespace axle
