// Where a user's programs keep what they can make again.
#pragma once

#include <filesystem>

namespace axle {

/// `axle` in XDG_CACHE_HOME, else in ~/.cache; empty where neither is known. It need not exist.
std::filesystem::path user_cache_folder();

}  // namespace axle
