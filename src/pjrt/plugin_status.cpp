#include "pjrt/plugin_status.h"

#include <fmt/format.h>

#include "base/error.h"
#include "pjrt/compiler.h"
#include "pjrt/plugin/find_plugin.h"
#include "pjrt/plugin/plugin.h"

namespace axle {
namespace {

Target smallest_target(const Accelerator& accelerator) {
  const auto& shapes = accelerator.slice_shapes;
  return {.accelerator = accelerator,
          .shape = shapes.empty() ? std::vector<int64_t>{1, 1} : shapes.front()};
}

// Checks that the plugin can describe at least one target of its platform; it may be too old or too
// new for others. If all fail, throws the error of the first.
void describe_some_target(const Plugin& plugin) {
  std::exception_ptr first;
  for (const Accelerator& accelerator : accelerators()) {
    if (accelerator.platform != plugin.policy().platform) continue;
    try {
      TopologyCompiler(smallest_target(accelerator), plugin);
      return;
    } catch (const DeviceError&) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

PluginStatus status_of(const PluginPolicy& policy) {
  PluginStatus status{.platform = policy.platform,
                      .path = named_plugin_file(policy.platform).string()};
  try {
    const auto file = find_plugin_file(policy);
    if (!file) {
      status.problem = fmt::format("not found; {}", policy.install_hint);
      return status;
    }
    status.path = file->string();
    const auto& plugin = load_plugin(policy.platform, *file);
    if (plugin.policy().platform != policy.platform) {
      throw DeviceError(
          fmt::format("plugin '{}' ({}): expected a plugin of platform '{}', got one of '{}'{}",
                      policy.platform, status.path, policy.platform, plugin.policy().platform,
                      advice_for(policy.platform, plugin.path())));
    }
    status.api_version = plugin.api_version();
    status.attributes = plugin.attributes();
    status.extensions = plugin.extensions();
    // On a machine with the device, this check is left to the client.
    if (policy.compiles_ahead && !has_device(policy)) describe_some_target(plugin);
  } catch (const DeviceError& e) {
    status.problem = e.what();
  }
  return status;
}

}  // namespace

std::vector<PluginStatus> plugin_statuses() {
  std::vector<PluginStatus> out;
  for (const auto& policy : plugin_policies()) out.push_back(status_of(policy));
  return out;
}

}  // namespace axle
