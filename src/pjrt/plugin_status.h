// Which plugins this machine has and whether they work, as far as that can be known without opening
// a device.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace axle {

/// One row of `axle doctor`.
struct PluginStatus {
  std::string platform;
  std::string path;         // the plugin found, or what AXLE_PLUGIN_<NAME> says; empty: neither
  std::string api_version;  // empty: the plugin could not be loaded
  std::map<std::string, std::string> attributes;
  std::vector<std::string> extensions;
  std::string problem;  // why the plugin can't be used, and what to do; empty: it can be used
};
/// Finds, loads and queries the plugin of every platform in plugin_policies(). It opens no device.
/// If this machine lacks the device, a plugin that compiles ahead must be able to describe a target
/// of its platform.
std::vector<PluginStatus> plugin_statuses();

}  // namespace axle
