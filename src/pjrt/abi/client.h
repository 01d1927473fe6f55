// PJRT's binary interface: clients and their devices.
#pragma once

#include "pjrt/abi/plugin.h"

namespace axle::pjrt {

struct ClientCreate {
  static constexpr int kSlot = 10;
  Head head;
  const NamedValue* options = nullptr;
  size_t num_options = 0;
  // Callbacks of the key-value store that the processes of one job share; null for one process.
  void* kv_get = nullptr;
  void* kv_get_user = nullptr;
  void* kv_put = nullptr;
  void* kv_put_user = nullptr;
  Client* client = nullptr;  // out
  void* kv_try_get = nullptr;
  void* kv_try_get_user = nullptr;
};

struct ClientDestroy {
  static constexpr int kSlot = 11;
  Head head;
  Client* client = nullptr;
};

struct ClientPlatformName {
  static constexpr int kSlot = 12;
  Head head;
  Client* client = nullptr;
  Text name;  // out
};

struct ClientPlatformVersion {
  static constexpr int kSlot = 14;
  Head head;
  Client* client = nullptr;
  Text version;  // out
};

/// Returns the devices that this process can use, without those of other processes of the job.
struct ClientAddressableDevices {
  static constexpr int kSlot = 16;
  Head head;
  Client* client = nullptr;
  Device* const* devices = nullptr;  // out
  size_t num_devices = 0;            // out
};

struct DeviceGetDescription {
  static constexpr int kSlot = 29;
  Head head;
  Device* device = nullptr;
  DeviceDescription* description = nullptr;  // out
};

/// Returns the id by which compile options refer to the device.
struct DeviceDescriptionId {
  static constexpr int kSlot = 23;
  static constexpr size_t kTailPadding = 4;
  Head head;
  DeviceDescription* description = nullptr;
  int id = 0;  // out
};

/// Returns the index, within the job, of the process that the device belongs to. It is not a
/// process id of the operating system.
struct DeviceDescriptionProcessIndex {
  static constexpr int kSlot = 24;
  static constexpr size_t kTailPadding = 4;
  Head head;
  DeviceDescription* description = nullptr;
  int process_index = 0;  // out
};

/// Returns further attributes of a device by name: "coords", "slice_index", ...
struct DeviceDescriptionAttributes {
  static constexpr int kSlot = 25;
  Head head;
  DeviceDescription* description = nullptr;
  size_t num_attributes = 0;               // out
  const NamedValue* attributes = nullptr;  // out; they live as long as the description
};

struct DeviceDescriptionKind {
  static constexpr int kSlot = 26;
  Head head;
  DeviceDescription* description = nullptr;
  Text kind;  // out
};

struct OptionalBytes {
  int64_t value = 0;
  bool is_set = false;
};

struct DeviceMemoryStats {
  static constexpr int kSlot = 34;
  static constexpr size_t kTailPadding = 7;
  Head head;
  Device* device = nullptr;
  int64_t bytes_in_use = 0;  // this field and all below are out
  OptionalBytes peak_bytes_in_use;
  OptionalBytes num_allocations;
  OptionalBytes largest_allocation;
  OptionalBytes bytes_limit;
  OptionalBytes bytes_reserved;
  OptionalBytes peak_bytes_reserved;
  OptionalBytes bytes_reservable_limit;
  OptionalBytes largest_free_block;
  OptionalBytes pool_bytes;
  OptionalBytes peak_pool_bytes;
  OptionalBytes peak_allocated_bytes;
};

}  // namespace axle::pjrt
