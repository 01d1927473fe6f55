#include "data/chat/chat_source.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/host_memory_check.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "config/register.h"
#include "data/chat/chat_records.h"
#include "data/text_source.h"
#include "data/token_files/corpus_text.h"

namespace axle {

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
