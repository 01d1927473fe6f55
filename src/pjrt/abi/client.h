// PJRT's binary interface: clients, their devices, and buffers.
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

enum class BufferType : int {
  kInvalid = 0,
  kPred = 1,
  kS8 = 2,
  kS16 = 3,
  kS32 = 4,
  kS64 = 5,
  kU8 = 6,
  kU16 = 7,
  kU32 = 8,
  kU64 = 9,
  kF16 = 10,
  kF32 = 11,
  kF64 = 12,
  kBF16 = 13,
  kC64 = 14,
  kC128 = 15,
  kF8E5M2 = 16,
  kF8E4M3FN = 17,
  kS4 = 21,
  kU4 = 22,
};

/// What the plugin may assume about the host memory of a transfer.
enum class HostBuffer : int {
  kImmutableOnlyDuringCall = 0,
  kImmutableUntilTransferCompletes = 1,
  kImmutableZeroCopy = 2,
  kMutableZeroCopy = 3,
};

/// A layout: the dims from the fastest-varying to the slowest, and optional tiles.
struct TiledLayout {
  Head head;
  const int64_t* minor_to_major = nullptr;
  size_t num_dims = 0;
  const int64_t* tile_dims = nullptr;
  const size_t* tile_dim_sizes = nullptr;
  size_t num_tiles = 0;
};

struct MemoryLayout {
  enum class Kind : int { kTiled = 0, kStrides = 1 };
  static constexpr size_t kTailPadding = 4;
  Head head;
  TiledLayout tiled;  // in PJRT a union with strides, which are smaller and not used here
  Kind kind = Kind::kTiled;
};

struct ClientBufferFromHostBuffer {
  static constexpr int kSlot = 22;
  Head head;
  Client* client = nullptr;
  const void* data = nullptr;
  BufferType type = BufferType::kInvalid;
  const int64_t* dims = nullptr;
  size_t num_dims = 0;
  const int64_t* byte_strides = nullptr;  // none: dense, row-major
  size_t num_byte_strides = 0;
  HostBuffer semantics = HostBuffer::kImmutableOnlyDuringCall;
  Device* device = nullptr;
  Memory* memory = nullptr;
  MemoryLayout* device_layout = nullptr;
  Event* done_with_host_buffer = nullptr;  // out
  Buffer* buffer = nullptr;                // out
};

struct BufferDestroy {
  static constexpr int kSlot = 58;
  Head head;
  Buffer* buffer = nullptr;
};

struct BufferIsDeleted {
  static constexpr int kSlot = 68;
  static constexpr size_t kTailPadding = 7;
  Head head;
  Buffer* buffer = nullptr;
  bool is_deleted = false;  // out
};

struct BufferToHostBuffer {
  static constexpr int kSlot = 70;
  Head head;
  Buffer* source = nullptr;
  MemoryLayout* host_layout = nullptr;  // null: the device's layout, maybe not row-major
  void* destination = nullptr;
  size_t destination_size = 0;
  Event* event = nullptr;  // out
};

struct BufferReadyEvent {
  static constexpr int kSlot = 72;
  Head head;
  Buffer* buffer = nullptr;
  Event* event = nullptr;  // out
};

}  // namespace axle::pjrt
