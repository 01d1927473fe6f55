#include "io/matching_paths.h"

#include <glob.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "io/file.h"

namespace axle {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDeep = "**";

std::vector<std::string> shell_matches(const std::string& pattern) {
  struct Failure {
    std::string folder;
    int error = 0;
  };
  static thread_local Failure failure;  // glob() hands nothing to the function that it calls
  failure = {};
  glob_t found = {};
  const auto note = [](const char* folder, int error) {
    failure = {folder, error};
    return error == ENOENT || error == ENOTDIR ? 0 : 1;
  };
  const int code = ::glob(pattern.c_str(), 0, note, &found);
  const std::vector<std::string> out(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (code == GLOB_ABORTED) fail_storage(failure.folder, "list", failure.error);
  return out;
}

// Returns where a part of the pattern is "**"; npos if none is.
size_t deep_part(std::string_view pattern) {
  for (size_t at = 0; (at = pattern.find(kDeep, at)) != pattern.npos; ++at) {
    const size_t end = at + kDeep.size();
    if ((at == 0 || pattern[at - 1] == '/') && (end == pattern.size() || pattern[end] == '/'))
      return at;
  }
  return pattern.npos;
}

// Returns a pattern that matches this path alone.
std::string as_pattern(const std::string& path) {
  std::string out;
  for (const char c : path) {
    if (c == '\\' || is_path_pattern({c})) out += '\\';
    out += c;
  }
  return out;
}

std::vector<fs::path> with_folders_below(const fs::path& folder) {
  std::vector<fs::path> out = {folder};
  for (size_t i = 0; i < out.size(); ++i) {
    for (const fs::path& path : list_directory(fs::path(out[i]))) {
      // As in a shell, a pattern finds what is hidden only if it says so.
      if (path.filename().string().starts_with('.')) continue;
      if (fs::is_directory(fs::symlink_status(path))) out.push_back(path);
    }
  }
  return out;
}

}  // namespace

bool is_path_pattern(const std::string& text) { return text.find_first_of("*?[") != text.npos; }

std::vector<std::string> matching_paths(const std::string& pattern) {
  const size_t at = deep_part(pattern);
  if (at == pattern.npos) return shell_matches(pattern);
  const std::string above = pattern.substr(0, at);
  const std::string below =
      at + kDeep.size() < pattern.size() ? pattern.substr(at + kDeep.size() + 1) : "*";
  std::vector<std::string> out;
  for (const fs::path top : above.empty() ? std::vector<std::string>{"."} : shell_matches(above)) {
    for (const fs::path& folder : with_folders_below(top)) {
      for (const fs::path found : matching_paths(as_pattern(folder) + "/" + below))
        out.push_back(found.lexically_normal());
    }
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace axle
