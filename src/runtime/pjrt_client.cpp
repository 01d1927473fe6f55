#include "runtime/pjrt_client.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "runtime/pjrt_device.h"
#include "runtime/plugin_end_guard.h"

namespace axle {
namespace {

// Not every plugin is known by its platform's name; one that is known by another's is refused.
// Virtual devices could be anybody's.
void check_platform(const Plugin& plugin, std::string_view name) {
  const PluginPolicy& policy = plugin.policy();
  const auto is_named = [&](const PluginPolicy& row) { return row.platform == name; };
  const bool is_known = std::ranges::any_of(plugin_policies(), is_named);
  if (name == policy.platform || (policy.device_count_option.empty() && !is_known)) return;
  throw DeviceError(fmt::format(
      "client of plugin '{}' ({}): expected a plugin of platform '{}', got one of '{}'{}",
      policy.platform, plugin.path().string(), policy.platform, name, plugin.advice()));
}

}  // namespace

PjrtClient::PjrtClient(const Plugin& plugin, int64_t num_devices) : plugin_(plugin) {
  const auto& policy = plugin.policy();
  pjrt::NamedValue count{
      .head = {sizeof(pjrt::NamedValue), nullptr},
      .name = {policy.device_count_option.data(), policy.device_count_option.size()},
      .value_size = 1};
  count.int64_value = num_devices;
  pjrt::ClientCreate create{.options = &count,
                            .num_options = policy.device_count_option.empty() ? size_t{0} : 1};
  const std::string where = fmt::format("client of plugin '{}'", policy.platform);
  {
    const PluginEndGuard guard(where);
    plugin.first_call(create, where);
  }
  if (!create.client) throw DeviceError(fmt::format("{}: expected a client, got none", where));
  client_ = {plugin, create.client};

  pjrt::ClientPlatformName name{.client = client_.get()};
  if (!plugin.try_call(name)) check_platform(plugin, to_view(name.name));
  pjrt::ClientPlatformVersion version{.client = client_.get()};
  plugin.call(version, where);
  topology_ = {.platform = policy.platform,
               .platform_version = std::string(to_view(version.version))};
  read_devices();
  if (devices_.empty()) throw DeviceError(fmt::format("{}: expected devices, got none", where));
}

void PjrtClient::read_devices() {
  const std::string where = fmt::format("devices of plugin '{}'", plugin_.policy().platform);
  pjrt::ClientAddressableDevices list{.client = client_.get()};
  plugin_.call(list, where);
  devices_.assign(list.devices, list.devices + list.num_devices);
  for (auto* device : devices_) {
    pjrt::DeviceGetDescription description{.device = device};
    plugin_.call(description, where);
    DeviceInfo info = read_device(plugin_, description.description, where);
    pjrt::DeviceMemoryStats memory{.device = device};
    // Not every plugin counts memory; without its figure the rest still works.
    if (!plugin_.try_call(memory) && memory.bytes_limit.is_set)
      info.memory_bytes = memory.bytes_limit.value;
    topology_.devices.push_back(std::move(info));
  }
}

}  // namespace axle
