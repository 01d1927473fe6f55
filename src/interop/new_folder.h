// Folders that appear as a whole, or not at all.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace axle {

/// What is to be written. A process that is killed may leave a part of it, which the next one
/// replaces.
struct NewFolder {
  std::filesystem::path dir;
  /// The subfolder in which everything is written before it is moved into place: "import.tmp".
  std::string unfinished;
  /// Its lock, which the process holds that writes: "import.lock".
  std::string lock;
  /// The file that is moved last: a folder without it is not complete.
  std::string last;
};
/// The file in the subfolder that lists what is moved to its final place.
inline constexpr std::string_view kNamesInMotion = "names.json";

/// Throws ConfigError unless `dir` is new or empty, or holds only what a killed process left there.
void check_new_folder(const NewFolder& folder);
/// Calls write(), which writes all files below the path that it gets, and moves them into place.
/// Throws as check_new_folder() and write() do, and StorageError; nothing is left on failure.
void write_new_folder(const NewFolder& folder,
                      const std::function<void(const std::filesystem::path& unfinished)>& write);

}  // namespace axle
