// What the plugins of this machine are good for, as far as it can be told without a device.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace axle {

/// One row of `axle doctor`.
struct PluginStatus {
  std::string platform;
  std::string path;         // found, or named by its variable; empty: neither
  std::string api_version;  // empty: not loaded
  std::map<std::string, std::string> attributes;
  std::vector<std::string> extensions;
  std::string problem;  // why it can't be used, and what to do; empty: all is well
};
/// Looks for, loads and questions the plugin of every platform with a policy. Without a device one
/// that compiles ahead must describe a target of its platform. Opens no device.
std::vector<PluginStatus> plugin_statuses();

}  // namespace axle
