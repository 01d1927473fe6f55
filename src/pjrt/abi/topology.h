// PJRT's binary interface: compiling for absent devices, which a topology describes.
#pragma once

#include "pjrt/abi/executable.h"

namespace axle::pjrt {

struct TopologyCreate {
  static constexpr int kSlot = 82;
  Head head;
  Text name;  // "v5e:2x4"
  const NamedValue* options = nullptr;
  size_t num_options = 0;
  Topology* topology = nullptr;  // out
};

struct TopologyDestroy {
  static constexpr int kSlot = 83;
  Head head;
  Topology* topology = nullptr;
};

/// Returns "tpu", "cuda", ...
struct TopologyPlatformName {
  static constexpr int kSlot = 84;
  Head head;
  const Topology* topology = nullptr;
  Text name;  // out; lives as long as the topology
};

struct TopologyPlatformVersion {
  static constexpr int kSlot = 85;
  Head head;
  Topology* topology = nullptr;
  Text version;  // out; lives as long as the topology
};

/// Returns the devices of the topology in no particular order.
struct TopologyGetDeviceDescriptions {
  static constexpr int kSlot = 86;
  Head head;
  const Topology* topology = nullptr;
  DeviceDescription* const* descriptions = nullptr;  // out
  size_t num_descriptions = 0;                       // out
};

/// Compiles a program into an executable that this process may be unable to run.
struct Compile {
  static constexpr int kSlot = 89;
  Head head;
  const Topology* topology = nullptr;
  const Program* program = nullptr;
  Text compile_options;
  Client* client = nullptr;          // null: compiles without a device
  Executable* executable = nullptr;  // out
};

}  // namespace axle::pjrt
