// PJRT's binary interface: compiling, running, storing and inspecting programs, and topologies to
// compile for.
#pragma once

#include "pjrt/abi/client.h"
#include "pjrt/abi/plugin.h"

namespace axle::pjrt {

/// The text or bytes of a program. `format` is "mlir" or "hlo".
struct Program {
  Head head;
  char* code = nullptr;
  size_t code_size = 0;
  Text format;
};

struct ClientCompile {
  static constexpr int kSlot = 20;
  Head head;
  Client* client = nullptr;
  const Program* program = nullptr;
  Text compile_options;                    // a CompileOptionsProto
  LoadedExecutable* executable = nullptr;  // out
};

struct ExecutableDestroy {
  static constexpr int kSlot = 40;
  Head head;
  Executable* executable = nullptr;
};

struct ExecutableNumOutputs {
  static constexpr int kSlot = 44;
  Head head;
  Executable* executable = nullptr;
  size_t num_outputs = 0;  // out
};

/// Returns the compiler's cost figures by name, such as "flops" or "bytes accessed".
struct ExecutableGetCostAnalysis {
  static constexpr int kSlot = 46;
  Head head;
  Executable* executable = nullptr;
  size_t num_properties = 0;               // out
  const NamedValue* properties = nullptr;  // out; lives as long as the executable
};

/// Called twice: first with `program->code` null to learn the size, then with a buffer of it.
struct ExecutableOptimizedProgram {
  static constexpr int kSlot = 48;
  Head head;
  Executable* executable = nullptr;
  Program* program = nullptr;
};

struct ExecutableSerialize {
  static constexpr int kSlot = 49;
  Head head;
  const Executable* executable = nullptr;
  Text bytes;                                        // out; valid until `serialized` is deleted
  SerializedExecutable* serialized = nullptr;        // out
  void (*deleter)(SerializedExecutable*) = nullptr;  // out
};

struct LoadedExecutableDestroy {
  static constexpr int kSlot = 50;
  Head head;
  LoadedExecutable* executable = nullptr;
};

struct LoadedExecutableGetExecutable {
  static constexpr int kSlot = 51;
  Head head;
  LoadedExecutable* loaded = nullptr;
  Executable* executable = nullptr;  // out; the caller must destroy it
};

struct ExecuteOptions {
  Head head;
  void** send_callbacks = nullptr;
  void** recv_callbacks = nullptr;
  size_t num_send_ops = 0;
  size_t num_recv_ops = 0;
  int launch_id = 0;
  const int64_t* non_donatable_inputs = nullptr;
  size_t num_non_donatable_inputs = 0;
  void* context = nullptr;
  const char* call_location = nullptr;
  size_t num_tasks = 0;
  int* task_ids = nullptr;
  int64_t* incarnation_ids = nullptr;
  void* multi_slice_config = nullptr;
  bool row_major_callbacks = false;
  void* hlo_output_callbacks = nullptr;
  size_t num_hlo_output_callbacks = 0;
};

struct LoadedExecutableExecute {
  static constexpr int kSlot = 55;
  Head head;
  LoadedExecutable* executable = nullptr;
  ExecuteOptions* options = nullptr;
  Buffer* const* const* arguments = nullptr;  // [num_devices][num_args]
  size_t num_devices = 0;
  size_t num_args = 0;
  Buffer** const* outputs = nullptr;         // [num_devices][number of outputs], filled in
  Event** device_complete_events = nullptr;  // [num_devices], filled in
  Device* execute_device = nullptr;
};

struct ExecutableDeserializeAndLoad {
  static constexpr int kSlot = 56;
  Head head;
  Client* client = nullptr;
  Text serialized;
  LoadedExecutable* loaded = nullptr;  // out
  Text overridden_compile_options;
  void* load_options = nullptr;
};

struct ExecutableGetCompiledMemoryStats {
  static constexpr int kSlot = 96;
  Head head;
  Executable* executable = nullptr;
  int64_t code = 0;  // this field and all below are out, in bytes on one device
  int64_t argument = 0;
  int64_t output = 0;
  int64_t alias = 0;
  int64_t temporary = 0;
  int64_t host_code = 0;
  int64_t host_argument = 0;
  int64_t host_output = 0;
  int64_t host_alias = 0;
  int64_t host_temporary = 0;
  int64_t peak = 0;
  int64_t total = 0;
  int64_t total_allocation = 0;
  int64_t indefinite_allocations = 0;
  int64_t peak_unpadded_heap = 0;
};

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
