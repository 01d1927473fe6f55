#include "data/token_files/corpus_source.h"

#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "base/host_memory_check.h"
#include "base/text/text.h"
#include "config/register.h"
#include "data/token_files/corpus_text.h"

namespace axle {

CorpusSource::CorpusSource(const Config& cfg, const Dims&, const Scope& scope)
    : skips_(cfg.on_error, fmt::format("{}.on_error", scope.path)) {
  const std::vector<std::string> named = named_texts(cfg.path.get(), cfg.more_paths, scope.path);
  for (const std::string& path : corpus_files(named, scope.path, skips_)) read(path, cfg);
  if (!documents_.empty()) return;
  throw DataError(no_document(named, skipped()));
}

void CorpusSource::read(const std::string& path, const Config& cfg) {
  constexpr int64_t kPricedAtOnce = int64_t{64} << 20;
  const size_t before = documents_.size();
  read_or_leave_out(path, skips_, [&] {
    CorpusReader reader(path, {.field = cfg.field, .unit = cfg.unit});
    while (auto raw = reader.next()) {
      CorpusText one = corpus_text(path, std::move(*raw), reader.is_json(), cfg.field);
      if (!one.reason.empty()) {
        leave_out(one, skips_);
        continue;
      }
      num_bytes_ += std::ssize(one.text) + std::ssize(one.where) +
                    static_cast<int64_t>(sizeof(Document) + sizeof(std::string));
      if (num_bytes_ > num_priced_bytes_) {
        check_host_allocation(path, "more documents", kPricedAtOnce);
        num_priced_bytes_ = num_bytes_ + kPricedAtOnce;
      }
      texts_.push_back(std::move(one.text));
      documents_.push_back({texts_.back(), std::move(one.where)});
    }
  });
  num_files_ += documents_.size() > before;
}

AXLE_REGISTER(CorpusSource)

}  // namespace axle
