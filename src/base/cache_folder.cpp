#include "base/cache_folder.h"

#include "base/environment.h"

namespace axle {

std::filesystem::path user_cache_folder() {
  // The XDG base directory specification says to ignore relative paths.
  const std::filesystem::path named = environment_variable("XDG_CACHE_HOME");
  if (named.is_absolute()) return named / "axle";
  const std::string home = environment_variable("HOME");
  return home.empty() ? std::filesystem::path() : std::filesystem::path(home) / ".cache/axle";
}

}  // namespace axle
