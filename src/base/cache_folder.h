// The folder for files that the program can create again.
#pragma once

#include <filesystem>

namespace axle {

/// Returns `axle` in XDG_CACHE_HOME, or else in ~/.cache; empty if neither is known. The folder
/// need not exist.
std::filesystem::path user_cache_folder();

}  // namespace axle
