#include "runtime/pjrt_client.h"

#include <fmt/format.h>

#include "base/error.h"
#include "runtime/pjrt_device.h"

namespace axle {

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
  plugin.first_call(create, where);
  if (!create.client) throw DeviceError(fmt::format("{}: expected a client, got none", where));
  client_ = {plugin, create.client};

  pjrt::ClientPlatformName name{.client = client_.get()};
  // Real devices show by themselves whose plugin it is; virtual ones could be anybody's.
  if (!policy.device_count_option.empty() && !plugin.try_call(name) &&
      to_view(name.name) != policy.platform) {
    throw DeviceError(fmt::format("{} ({}): expected a plugin of platform '{}', got one of '{}'{}",
                                  where, plugin.path().string(), policy.platform,
                                  to_view(name.name), plugin.advice()));
  }
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
