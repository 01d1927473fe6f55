#include "interop/new_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "io/file.h"
#include "io/file_lock.h"

namespace axle {
namespace {

namespace fs = std::filesystem;

// Returns the names that a process leaves in the folder if it is killed; the last file is first,
// since a folder without it is not complete.
std::vector<std::string> names_of_unfinished(const NewFolder& folder) {
  if (!path_exists(folder.dir / folder.unfinished)) return {};
  std::vector<std::string> out = {folder.last, folder.unfinished};
  out.insert(out.end(), folder.others.begin(), folder.others.end());
  return out;
}

// Moves what was written to its final place.
void put_in_place(const NewFolder& folder) {
  const fs::path unfinished = folder.dir / folder.unfinished;
  for (const fs::path& entry : list_directory(unfinished)) {
    const fs::path name = entry.filename();
    if (name != folder.lock && name != folder.last) rename_durably(entry, folder.dir / name);
  }
  rename_durably(unfinished / folder.last, folder.dir / folder.last);
  remove_tree(unfinished);
}

}  // namespace

void check_new_folder(const NewFolder& folder) {
  const fs::path& dir = folder.dir;
  if (!path_exists(dir)) return;
  const std::vector<std::string> ours = names_of_unfinished(folder);
  const auto is_ours = [&](const fs::path& entry) {
    return std::ranges::count(ours, entry.filename().string()) > 0;
  };
  if (directory_exists(dir) && std::ranges::all_of(list_directory(dir), is_ours)) return;
  throw ConfigError(fmt::format("{}: expected a new or empty folder, got {}; name another",
                                dir.string(),
                                directory_exists(dir) ? "one with files in it" : "a file"));
}

void write_new_folder(const NewFolder& folder,
                      const std::function<void(const fs::path& unfinished)>& write) {
  check_new_folder(folder);
  const fs::path unfinished = folder.dir / folder.unfinished;
  const std::vector<fs::path> created = make_directories(unfinished);
  std::optional<FileLock> lock;
  bool is_ours = false;
  try {
    lock.emplace(unfinished / folder.lock);
    check_new_folder(folder);  // another process may have been at it until now
    is_ours = true;
    for (const fs::path& entry : list_directory(unfinished)) {
      if (entry.filename() != folder.lock) remove_tree(entry);  // left by a process that was killed
    }
    // Left by a process that was killed while it moved its files into place.
    for (const std::string& name : names_of_unfinished(folder)) {
      if (name != folder.unfinished) remove_tree(folder.dir / name);
    }
    write(unfinished);
    put_in_place(folder);
  } catch (...) {
    std::error_code ignored;  // the caller must see the original error
    if (is_ours) {
      for (const fs::path& entry : list_directory(folder.dir)) fs::remove_all(entry, ignored);
    }
    for (const fs::path& path : created) fs::remove(path, ignored);
    throw;
  }
}

}  // namespace axle
