#include "interop/new_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
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
  const fs::path unfinished = folder.dir / folder.unfinished;
  if (!path_exists(unfinished)) return {};
  std::vector<std::string> out = {folder.last, folder.unfinished};
  const fs::path moved = unfinished / kNamesInMotion;
  if (!path_exists(moved)) return out;
  const auto names = nlohmann::json::parse(read_file(moved), nullptr, false);
  for (const auto& name : names)
    if (name.is_string()) out.push_back(fs::path(name.get<std::string>()).filename());
  return out;
}

// Moves what was written to its final place. The names are written down first: a process that is
// killed before the last one leaves files that the next one must know as its own.
void put_in_place(const NewFolder& folder) {
  const fs::path unfinished = folder.dir / folder.unfinished;
  std::vector<std::string> names;
  for (const fs::path& entry : list_directory(unfinished)) {
    const fs::path name = entry.filename();
    if (name != folder.lock && name != folder.last) names.push_back(name);
  }
  replace_file(unfinished / kNamesInMotion, nlohmann::json(names).dump());
  for (const std::string& name : names) rename_durably(unfinished / name, folder.dir / name);
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
    // Left by a process that was killed while it moved its files into place.
    for (const std::string& name : names_of_unfinished(folder)) {
      if (name != folder.unfinished) remove_tree(folder.dir / name);
    }
    for (const fs::path& entry : list_directory(unfinished)) {
      if (entry.filename() != folder.lock) remove_tree(entry);  // left by a process that was killed
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
