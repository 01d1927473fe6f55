#include "pjrt/device.h"

#include <span>

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

}  // namespace axle
