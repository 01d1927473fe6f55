// PJRT's binary interface: buffers and transfers between host and device.
#pragma once

#include "pjrt/abi/plugin.h"

namespace axle::pjrt {

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
