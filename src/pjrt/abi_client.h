// PJRT's binary interface: clients and their devices.
#pragma once

#include "pjrt/abi.h"

namespace axle::pjrt {

struct ClientCreate {
  static constexpr int kSlot = 10;
  Head head;
  const NamedValue* options = nullptr;
  size_t num_options = 0;
  // A store of keys and values that the processes of one job share; null for a single process.
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

/// The devices that this process can use, unlike those of other processes of the job.
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

/// The id by which compile options name the device.
struct DeviceDescriptionId {
  static constexpr int kSlot = 23;
  static constexpr size_t kTailPadding = 4;
  Head head;
  DeviceDescription* description = nullptr;
  int id = 0;  // out
};

/// The process that the device belongs to: of a job, not of the machine.
struct DeviceDescriptionProcessIndex {
  static constexpr int kSlot = 24;
  static constexpr size_t kTailPadding = 4;
  Head head;
  DeviceDescription* description = nullptr;
  int process_index = 0;  // out
};

/// What else is known of a device, by name: "coords", "slice_index", ...
struct DeviceDescriptionAttributes {
  static constexpr int kSlot = 25;
  Head head;
  DeviceDescription* description = nullptr;
  size_t num_attributes = 0;               // out
  const NamedValue* attributes = nullptr;  // out; live as long as the description
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
  int64_t bytes_in_use = 0;  // all of these are out
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
