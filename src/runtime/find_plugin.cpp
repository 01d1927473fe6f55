// Where plugins lie on this machine.
#include <fmt/format.h>

#include <cstdlib>

#include "base/error.h"
#include "runtime/plugin.h"

namespace axle {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxDepth = 4;  // a wheel unpacks into a folder or two

std::vector<fs::path> plugin_folders() {
  std::vector<fs::path> out;
  std::error_code ignored;
  out.push_back(fs::current_path(ignored) / ".axle/plugins");
  const auto program = fs::read_symlink("/proc/self/exe", ignored);
  for (auto folder = program.parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    out.push_back(folder / ".axle/plugins");
  }
  if (const char* home = std::getenv("HOME")) out.push_back(fs::path(home) / ".axle/plugins");
  return out;
}

std::optional<fs::path> find_below(const fs::path& folder, const std::string& file) {
  std::error_code error;
  const auto options = fs::directory_options::follow_directory_symlink |
                       fs::directory_options::skip_permission_denied;
  auto entries = fs::recursive_directory_iterator(folder, options, error);
  std::optional<fs::path> found;
  // The order of a directory is chance: the first by name is taken, so that two runs agree.
  for (; !error && entries != fs::recursive_directory_iterator(); entries.increment(error)) {
    if (entries.depth() >= kMaxDepth) entries.disable_recursion_pending();
    if (entries->path().filename() == file && (!found || entries->path() < *found))
      found = entries->path();
  }
  return found;
}

}  // namespace

std::optional<fs::path> find_plugin(const PluginPolicy& policy) {
  const std::string variable = plugin_variable(policy.platform);
  if (const char* named = std::getenv(variable.c_str()); named && *named) {
    if (!fs::is_regular_file(named)) {
      throw DeviceError(
          fmt::format("{}: expected the file of a PJRT plugin, got '{}'", variable, named));
    }
    return fs::path(named);
  }
  for (const auto& folder : plugin_folders()) {
    for (const auto& file : policy.files) {
      if (auto found = find_below(folder, file)) return found;
    }
  }
  return std::nullopt;
}

}  // namespace axle
