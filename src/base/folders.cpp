#include "base/folders.h"

#include <dlfcn.h>

#include "base/process_start.h"

namespace axle {

std::filesystem::path user_cache_folder() {
  // The XDG base directory specification says to ignore relative paths.
  const std::filesystem::path named = environment_variable("XDG_CACHE_HOME");
  if (named.is_absolute()) return named / "axle";
  const std::string home = environment_variable("HOME");
  return home.empty() ? std::filesystem::path() : std::filesystem::path(home) / ".cache/axle";
}

namespace {

namespace fs = std::filesystem;

}  // namespace

std::vector<fs::path> own_folders(const std::string& kind) {
  std::vector<fs::path> out;
  std::error_code ignored;
  const std::string hidden = ".axle/" + kind;
  out.push_back(fs::current_path(ignored) / hidden);
  const auto program = fs::read_symlink("/proc/self/exe", ignored);
  for (auto folder = program.parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    out.push_back(folder / hidden);
  }
  // `./dev install` puts what it brings beside libaxle.so. The running program may be the user's
  // own, so the folder of the library is searched as well.
  Dl_info library = {};
  if (::dladdr(reinterpret_cast<const void*>(&own_folders), &library) != 0) {
    const auto file = fs::weakly_canonical(library.dli_fname, ignored);
    out.push_back(file.parent_path() / "axle" / kind);
  }
  if (const std::string home = environment_variable("HOME"); !home.empty())
    out.push_back(fs::path(home) / hidden);
  return out;
}

}  // namespace axle
