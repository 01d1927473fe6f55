#include "io/created_folders.h"

#include <unistd.h>

#include <cerrno>

#include "io/file.h"

namespace axle {

std::vector<std::filesystem::path> create_missing_folders(const std::filesystem::path& dir) {
  std::vector<std::filesystem::path> missing;
  for (auto at = dir; !at.empty() && !path_exists(at); at = at.parent_path()) missing.push_back(at);
  make_directories(dir);
  return missing;
}

void remove_empty_folders(const std::vector<std::filesystem::path>& innermost_first) {
  for (const auto& folder : innermost_first) {
    if (::rmdir(folder.c_str()) != 0 && errno != ENOENT) break;
  }
}

}  // namespace axle
