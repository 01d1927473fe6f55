#include "pjrt/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "pjrt/plugin/plugin_watch.h"

namespace axle {
namespace {

using Kind = pjrt::NamedValue::Kind;

// Ignores unknown names and unexpected types, because each plugin adds attributes of its own.
void read_attribute(const pjrt::NamedValue& value, DeviceInfo& info) {
  const std::string_view name = to_view(value.name);
  if (name == "coords" && value.kind == Kind::kInt64List)
    info.coords.assign(value.int64_list_value, value.int64_list_value + value.value_size);
  if (value.kind != Kind::kInt64) return;
  if (name == "slice_index") info.slice = value.int64_value;
  if (name == "device_memory_bytes_limit") info.memory_bytes = value.int64_value;
}

}  // namespace

DeviceInfo read_device(const Plugin& plugin, pjrt::DeviceDescription* description,
                       std::string_view where) {
  pjrt::DeviceDescriptionId id{.description = description};
  plugin.call(id, where);
  pjrt::DeviceDescriptionKind kind{.description = description};
  plugin.call(kind, where);
  DeviceInfo info{.id = id.id, .kind = std::string(to_view(kind.kind))};
  pjrt::DeviceDescriptionProcessIndex process{.description = description};
  if (!plugin.try_call(process)) info.process = process.process_index;
  pjrt::DeviceDescriptionAttributes attributes{.description = description};
  if (!plugin.try_call(attributes) && attributes.attributes) {
    for (const auto& value : std::span(attributes.attributes, attributes.num_attributes))
      read_attribute(value, info);
  }
  return info;
}

namespace {

// Refuses a plugin that reports the platform name of another row of plugin_policies(). A name that
// is in no row is accepted, because some plugins report another name than that of their row. For a
// platform of virtual devices the name must match, because any plugin could have virtual devices.
void check_platform(const Plugin& plugin, std::string_view name) {
  const PluginPolicy& policy = plugin.policy();
  const auto is_named = [&](const PluginPolicy& row) { return row.platform == name; };
  const bool is_known = std::ranges::any_of(plugin_policies(), is_named);
  if (name == policy.platform || (policy.device_count_option.empty() && !is_known)) return;
  throw DeviceError(fmt::format(
      "client of plugin '{}' ({}): expected a plugin of platform '{}', got one of '{}'{}",
      policy.platform, plugin.path().string(), policy.platform, name, plugin.advice()));
}

// Names and types of the options come from pjrt_c_api_{cpu,gpu}_internal.cc in xla/pjrt/c. The
// names point into the policy or are literals.
std::vector<pjrt::NamedValue> client_options(const PluginPolicy& policy, int64_t num_devices) {
  std::vector<pjrt::NamedValue> out;
  const auto add = [&](std::string_view name, Kind kind) -> pjrt::NamedValue& {
    return out.emplace_back(pjrt::NamedValue{.head = {sizeof(pjrt::NamedValue), nullptr},
                                             .name = {name.data(), name.size()},
                                             .kind = kind,
                                             .value_size = 1});
  };
  if (!policy.device_count_option.empty())
    add(policy.device_count_option, Kind::kInt64).int64_value = num_devices;
  if (policy.memory.fraction > 0) {
    add("memory_fraction", Kind::kFloat).float_value = policy.memory.fraction;
    add("preallocate", Kind::kBool).bool_value = policy.memory.preallocate;
  }
  return out;
}

// Checks for room for threads first, because plugins and their compilers crash in various ways if
// they cannot start a thread. They have a few pools with one thread per core.
void check_threads(const std::string& where) {
  const unsigned num_threads = 4 * std::max(1u, std::thread::hardware_concurrency()) + 8;
  if (can_start(num_threads)) return;
  throw DeviceError(
      fmt::format("{}: expected to start {} threads, got fewer; raise the limit of processes "
                  "(ulimit -u, or that of the container)",
                  where, num_threads));
}

}  // namespace

PjrtClient::PjrtClient(const Plugin& plugin, int64_t num_devices) : plugin_(plugin) {
  const auto& policy = plugin.policy();
  const std::vector<pjrt::NamedValue> options = client_options(policy, num_devices);
  pjrt::ClientCreate create{.options = options.data(), .num_options = options.size()};
  const std::string where = fmt::format("client of plugin '{}'", policy.platform);
  check_threads(where);
  {
    const PluginTask task(where);
    plugin.first_call(create, where);
  }
  if (!create.client) throw DeviceError(fmt::format("{}: expected a client, got none", where));
  client_ = {plugin, create.client};

  pjrt::ClientPlatformName name{.client = client_.get()};
  if (!plugin.try_call(name)) check_platform(plugin, to_view(name.name));
  pjrt::ClientPlatformVersion version{.client = client_.get()};
  plugin.call(version, where);
  topology_ = {.platform = policy.platform,
               .platform_version = std::string(to_view(version.version)),
               .fast_network = policy.fast_network};
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
    // Some plugins report no memory; the rest works without that figure.
    if (!plugin_.try_call(memory) && memory.bytes_limit.is_set)
      info.memory_bytes = memory.bytes_limit.value;
    topology_.devices.push_back(std::move(info));
  }
}

}  // namespace axle
