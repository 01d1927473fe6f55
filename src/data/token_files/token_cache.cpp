#include "data/token_files/token_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/folders.h"
#include "base/hash.h"
#include "base/text/text_table.h"
#include "data/source.h"
#include "data/token_files/token_card.h"
#include "io/file.h"
#include "io/file_lock.h"

namespace axle {

namespace fs = std::filesystem;

TokenCache::TokenCache(const std::string& what, const std::vector<std::string>& files,
                       std::string where, const std::string& otherwise)
    : where_(std::move(where)) {
  const fs::path cache = user_cache_folder();
  if (cache.empty()) {
    throw ConfigError(fmt::format(
        "{}: expected a folder for the tokens, got none; set XDG_CACHE_HOME{}", where_, otherwise));
  }
  std::string all = what, states;
  for (const std::string& path : files) {
    all += "\n" + fs::absolute(path).lexically_normal().string();
    states += state_of_file(path) + "\n";
  }
  folder_ = cache / "tokens" / fmt::format("{:016x}", xxh3_64(all));
  state_ = fmt::format("{:016x}", xxh3_64(states));
}

void TokenCache::ensure(const std::function<void()>& make) const {
  if (path_exists(token_card_path(prefix()))) return;
  make_directories(folder_);
  bool is_told = false;
  const FileLock lock(folder_ / "lock", [&](const std::string& holder) {
    if (!std::exchange(is_told, true))
      report_to_stderr(fmt::format("{}: waiting for {}, which encodes the text", where_, holder));
    return true;
  });
  if (path_exists(token_card_path(prefix()))) return;
  remove_others();
  make();
}

void TokenCache::remove_others() const {
  for (const fs::path& entry : list_directory(folder_)) {
    const std::string name = entry.filename().string();
    if (name != "lock" && !name.starts_with(state_)) remove_tree(entry);
  }
}

std::string MadeFor::or_in_memory(int64_t num_bytes) const {
  if (!has_memory) return "";
  return fmt::format(", or keep them in memory by --set {}.memory_bytes={}", input, num_bytes);
}

void add_made(const MadeTokens& made, InputFacts& facts) {
  const auto card = read_token_card(made.prefix);
  facts.num_files +=
      std::ranges::count_if(card->sources,
                            [](const HashedFile& file) { return file.num_documents > 0; }) -
      1;
  SkipLog skips(OnError::kSkip, "");
  skips.add(made.skipped);
  skips.add(card->skipped);
  skips.add(facts.skipped);
  facts.skipped = skips.skipped();
}

namespace {

constexpr double kReportSecs = 30;

}  // namespace

void EncodingReport::add(const TokenBuildProgress& progress) {
  if (num_reports_ == 0) {
    report_to_stderr(fmt::format("{}: encoding {} of {}, once; its tokens stay in {}", where_,
                                 bytes_text(num_bytes_), what_,
                                 text_of_path(cache_.folder().string())));
    num_reports_ = 1;
  }
  if (seconds_since(start_) < kReportSecs * num_reports_) return;
  ++num_reports_;
  report_to_stderr(fmt::format("{}: encoded {} of {}, in {} of {} done", where_,
                               bytes_text(progress.text_bytes), what_, progress.num_files_done,
                               counted(progress.num_files, "file")));
}

void EncodingReport::end() const {
  if (num_reports_ == 0) return;
  report_to_stderr(fmt::format("{}: encoded {} in {}", where_, bytes_text(num_bytes_),
                               duration_text(seconds_since(start_))));
}

}  // namespace axle
