// Gets what a platform's plugin needs, on the first use of it, after a yes.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "pjrt/plugin/plugin_pins.h"
#include "pjrt/plugin/plugin_policy.h"

namespace axle {

struct FetchOptions {
  /// Fetch without a question (--yes).
  bool yes = false;
  /// Asks the user; empty: nobody is there to be asked.
  std::function<bool(const std::string& question)> ask = {};
  /// Told what is being done, a line each; empty: nobody listens.
  std::function<void(const std::string& line)> say = {};
  /// Told how far a download is: its name, bytes so far and in all; empty: nobody listens.
  std::function<void(const std::string& name, int64_t bytes, int64_t total)> progress = {};
  /// Into which folder of plugins; empty: default_plugin_folder().
  std::filesystem::path folder = {};
};

/// Asks on the terminal if there is one and shows there what goes on.
FetchOptions terminal_fetch_options(bool yes);

/// The first of plugin_folders() that exists and may be written, else the one in the home
/// directory.
std::filesystem::path default_plugin_folder();

/// What of a platform is on this machine, of whatever version.
struct PluginParts {
  bool plugin = false;
  /// All that the plugin's compiler calls; asked only where the plugin is there.
  bool tools = false;
};
/// Throws DeviceError where AXLE_PLUGIN_<NAME> names no file.
PluginParts plugin_parts_here(const PluginPolicy& policy);

/// Those of the wheels that must be unpacked into `folder` before the platform can be compiled for:
/// what is here stays as it is.
std::vector<PinnedWheel> missing_wheels(const PluginPins& pins, const std::filesystem::path& folder,
                                        const PluginParts& here);

/// Makes sure that the platform's plugin, and what its compiler calls, is here. Fetches it if not:
/// from the package indexes of this machine, each file checked against its pinned hash, all or
/// nothing. Where another process fetches into the same folder it waits for it. Throws DeviceError
/// where the user says no or can't be asked, where the download fails or is interrupted, and where
/// the platform's plugin can't be fetched at all.
void ensure_plugin(std::string_view platform, const FetchOptions& options);
/// The same for a platform of that policy; `pins` is null where nothing can be fetched.
void ensure_plugin(const PluginPolicy& policy, const PluginPins* pins, const FetchOptions& options);

}  // namespace axle
