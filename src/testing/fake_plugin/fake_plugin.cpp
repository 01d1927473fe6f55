// A PJRT plugin for tests that fails on demand: errors, events, clients and devices. See
// fake_control.h.
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "pjrt/abi/client.h"
#include "testing/fake_plugin/fake_entry.h"

namespace axle::testing {
namespace {

using namespace pjrt;

void end_process() {
  using End = FakeControl::End;
  switch (control().end) {
    case End::kAbort:
      std::abort();
    case End::kBadAccess:
      std::raise(SIGSEGV);
      break;
    case End::kBusError:
      std::raise(SIGBUS);
      break;
    case End::kException:
      std::thread([] { throw std::runtime_error("no room"); }).join();
  }
}

// error_destroy and error_message return nothing, so a test can't make them fail.
void error_destroy(void* raw) { delete static_cast<ErrorDestroy*>(raw)->error; }
void error_message(void* raw) {
  auto& args = *static_cast<ErrorMessage*>(raw);
  args.message = {args.error->message.data(), args.error->message.size()};
}

Error* error_code(ErrorGetCode& args) {
  args.code = args.error->code;
  return nullptr;
}

Error* initialize(PluginInitialize&) { return nullptr; }

Error* attributes(PluginAttributes& args) {
  static const int64_t version[] = {1, 20, 0};
  static NamedValue values[2];
  values[0].name = {"stablehlo_current_version", 25};
  values[0].kind = NamedValue::Kind::kInt64List;
  values[0].int64_list_value = version;
  values[0].value_size = 3;
  values[1].name = {"maker", 5};
  values[1].kind = NamedValue::Kind::kString;
  values[1].string_value = "tests";
  values[1].value_size = 5;
  args.attributes = control().null_attributes ? nullptr : values;
  args.num_attributes = 2;
  return nullptr;
}

Error* event_destroy(EventDestroy& args) {
  delete args.event;
  return nullptr;
}
Error* event_await(EventAwait& args) { return args.event->await(); }

Error* client_create(ClientCreate& args) {
  if (control().refuse_options && args.num_options > 0) {
    return new Error(
        ErrorCode::kInvalidArgument,
        "unknown option " + std::string(args.options[0].name.data, args.options[0].name.size));
  }
  args.client = new Client;
  for (int i = 0; i < 4; ++i) {
    args.client->devices.push_back(std::make_unique<Device>(Device{{.id = 10 + i}}));
    if (control().row_from_far_end) args.client->devices.back()->description.coords = {3 - i, 0, 0};
    args.client->pointers.push_back(args.client->devices.back().get());
  }
  return nullptr;
}
Error* client_destroy(ClientDestroy& args) {
  delete args.client;
  return nullptr;
}
Error* platform_name(ClientPlatformName& args) {
  args.name = {control().platform, std::strlen(control().platform)};
  return nullptr;
}
Error* platform_version(ClientPlatformVersion& args) {
  args.version = {"fake 1", 6};
  return nullptr;
}
Error* addressable_devices(ClientAddressableDevices& args) {
  args.devices = args.client->pointers.data();
  args.num_devices = args.client->pointers.size();
  return nullptr;
}
Error* device_description(DeviceGetDescription& args) {
  args.description = &args.device->description;
  return nullptr;
}
Error* description_id(DeviceDescriptionId& args) {
  args.id = args.description->id;
  return nullptr;
}
Error* description_kind(DeviceDescriptionKind& args) {
  args.kind = {control().device_kind, std::strlen(control().device_kind)};
  return nullptr;
}
Error* description_process(DeviceDescriptionProcessIndex& args) {
  args.process_index = args.description->process;
  return nullptr;
}
Error* description_attributes(DeviceDescriptionAttributes& args) {
  auto& description = *args.description;
  NamedValue coords, slice, maker;
  coords.name = {"coords", 6};
  coords.kind = NamedValue::Kind::kInt64List;
  coords.int64_list_value = description.coords.data();
  coords.value_size = description.coords.size();
  slice.name = {"slice_index", 11};
  slice.int64_value = description.slice;
  maker.name = {"maker", 5};  // an attribute that Axle does not know
  maker.kind = NamedValue::Kind::kString;
  maker.string_value = "tests";
  maker.value_size = 5;
  description.attributes = {maker, coords, slice};
  args.attributes = control().null_attributes ? nullptr : description.attributes.data();
  args.num_attributes = description.attributes.size();
  return nullptr;
}
Error* memory_stats(DeviceMemoryStats& args) {
  args.bytes_limit = {1 << 20, true};
  return nullptr;
}

void fill(Api& api) {
  const auto& c = control();
  api = {};
  api.struct_size = c.api_size;
  api.version = {sizeof(Version), nullptr, c.major_version, c.minor_version};
  api.slots[ErrorDestroy::kSlot] = reinterpret_cast<void*>(&error_destroy);
  api.slots[ErrorMessage::kSlot] = reinterpret_cast<void*>(&error_message);
  enter<ErrorGetCode, error_code>(api);
  enter<PluginInitialize, initialize>(api);
  enter<PluginAttributes, attributes>(api);
  enter<EventDestroy, event_destroy>(api);
  enter<EventAwait, event_await>(api);
  enter<ClientCreate, client_create>(api);
  enter<ClientDestroy, client_destroy>(api);
  enter<ClientPlatformName, platform_name>(api);
  enter<ClientPlatformVersion, platform_version>(api);
  enter<ClientAddressableDevices, addressable_devices>(api);
  enter<DeviceGetDescription, device_description>(api);
  enter<DeviceDescriptionId, description_id>(api);
  enter<DeviceDescriptionKind, description_kind>(api);
  enter<DeviceDescriptionProcessIndex, description_process>(api);
  enter<DeviceDescriptionAttributes, description_attributes>(api);
  enter<DeviceMemoryStats, memory_stats>(api);
  enter_buffers(api);
  enter_executables(api);
  enter_topologies(api);
  if (c.missing_slot >= 0) api.slots[c.missing_slot] = nullptr;
}

}  // namespace

void ordered_end(int slot) {
  if (slot != control().end_slot) return;
  if (control().end_on_thread) {
    std::thread(end_process).join();
  } else {
    end_process();
  }
}

}  // namespace axle::testing

extern "C" axle::testing::FakeControl* axle_fake_control() { return &axle::testing::control(); }

extern "C" const axle::pjrt::Api* GetPjrtApi() {
  static axle::pjrt::Api api;
  axle::testing::fill(api);
  return axle::testing::control().no_api ? nullptr : &api;
}
