#include "data/token_files/token_cache.h"

#include <fmt/format.h>

#include <utility>

#include "base/cache_folder.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/report.h"
#include "data/token_files/build_progress.h"
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

}  // namespace axle
