#include "runtime/pjrt_client.h"

#include <fmt/format.h>

#include "base/error.h"

namespace axle {
namespace {

std::string to_string(pjrt::Text text) {
  return text.data ? std::string(text.data, text.size) : std::string();
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
  plugin.call(create, where);
  if (!create.client) throw DeviceError(fmt::format("{}: expected a client, got none", where));
  client_ = {plugin, create.client};

  pjrt::ClientPlatformVersion version{.client = client_.get()};
  plugin.call(version, where);
  topology_ = {.platform = policy.platform, .platform_version = to_string(version.version)};
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
    pjrt::DeviceDescriptionId id{.description = description.description};
    plugin_.call(id, where);
    pjrt::DeviceDescriptionKind kind{.description = description.description};
    plugin_.call(kind, where);
    DeviceInfo info{.id = id.id, .kind = to_string(kind.kind)};
    pjrt::DeviceMemoryStats memory{.device = device};
    // Not every plugin counts memory; without its figure the rest still works.
    if (!plugin_.try_call(memory) && memory.bytes_limit.is_set)
      info.memory_bytes = memory.bytes_limit.value;
    topology_.devices.push_back(std::move(info));
  }
}

std::vector<int64_t> PjrtClient::device_ids(int64_t n) const {
  if (n > static_cast<int64_t>(devices_.size())) {
    throw DeviceError(fmt::format("mesh: expected at most the {} devices of '{}', got a mesh of {}",
                                  devices_.size(), topology_.platform, n));
  }
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < n; ++i) ids.push_back(topology_.devices[static_cast<size_t>(i)].id);
  return ids;
}

}  // namespace axle
