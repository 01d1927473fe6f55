// The fake plugin's topologies, and its compiler that works without a client.
#include <cstdlib>

#include "pjrt/abi/executable.h"
#include "testing/fake_plugin/fake_entry.h"

namespace axle::testing {
namespace {

using namespace pjrt;

Error* create(TopologyCreate& args) {
  const std::string name(to_view(args.name));
  if (!name.starts_with("fake:"))
    return new Error(ErrorCode::kInvalidArgument, "no such topology: '" + name + "'");
  int64_t num_slices = 1;
  for (size_t i = 0; i < args.num_options; ++i) {
    const auto& option = args.options[i];
    if (auto* error = check_size("NamedValue", option.head.struct_size, wire_size<NamedValue>()))
      return error;
    const auto option_name = to_view(option.name);
    if (option_name == "num_slices" && option.kind == NamedValue::Kind::kInt64) {
      num_slices = option.int64_value;
    } else if (option_name != "color" || option.kind != NamedValue::Kind::kString) {
      return new Error(ErrorCode::kInvalidArgument,
                       "no such topology option: '" + std::string(option_name) + "'");
    }
  }
  auto* topology = new Topology;
  const int chips = std::atoi(name.c_str() + 5);
  // Listed backwards: a plugin may choose any order.
  for (int64_t slice = num_slices; slice-- > 0;) {
    for (int chip = chips; chip-- > 0;) {
      auto device = std::make_unique<DeviceDescription>();
      device->id = (num_slices == 1 ? 10 : static_cast<int>(1000 * (slice + 1))) + chip;
      device->process = static_cast<int>(slice);
      device->slice = slice;
      device->coords = {chip, 0, 0};
      topology->pointers.push_back(device.get());
      topology->devices.push_back(std::move(device));
    }
  }
  args.topology = topology;
  return nullptr;
}

Error* destroy(TopologyDestroy& args) {
  delete args.topology;
  return nullptr;
}

Error* platform_name(TopologyPlatformName& args) {
  const std::string_view name = control().platform;
  args.name = {name.data(), name.size()};
  return nullptr;
}
Error* platform_version(TopologyPlatformVersion& args) {
  args.version = {"fake 1", 6};
  return nullptr;
}

Error* descriptions(TopologyGetDeviceDescriptions& args) {
  args.descriptions = args.topology->pointers.data();
  args.num_descriptions = args.topology->pointers.size();
  return nullptr;
}

Error* compile(Compile& args) {
  std::string text;
  if (auto* error = compile_text(*args.program, args.compile_options, text)) return error;
  args.executable = new Executable;
  args.executable->text = text;
  parse(*args.executable);
  return nullptr;
}

}  // namespace

void enter_topologies(pjrt::Api& api) {
  enter<TopologyCreate, create>(api);
  enter<TopologyDestroy, destroy>(api);
  enter<TopologyPlatformName, platform_name>(api);
  enter<TopologyPlatformVersion, platform_version>(api);
  enter<TopologyGetDeviceDescriptions, descriptions>(api);
  enter<Compile, compile>(api);
}

}  // namespace axle::testing
