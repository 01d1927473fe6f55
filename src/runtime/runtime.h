// The interface of runtimes, which compile and run programs: PJRT plugins and the reference
// interpreter.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/host_tensor.h"
#include "lower/stablehlo.h"

namespace axle {

/// One device, present or only described.
struct DeviceInfo {
  int64_t id = 0;
  std::string kind;                          // as the plugin names it, "cpu" or "NVIDIA H100"
  std::optional<int64_t> memory_bytes = {};  // none: the plugin does not report it
  int64_t process = 0;  // index of the process in the job; on GPUs, of the node
  int64_t slice = 0;    // index of the TPU slice
  /// Position in the network: x, y, z on a TPU torus; empty: the plugin does not report it.
  std::vector<int64_t> coords = {};
};

/// Which devices the fast network joins.
enum class FastNetwork {
  kAll,      // all devices, as for virtual devices
  kProcess,  // the devices of one process, which is one node
  kSlice     // the devices of one slice
};

struct Topology {
  std::string platform;          // "cpu", "cuda", "tpu", "interpreter"
  std::string platform_version;  // as the plugin prints it
  FastNetwork fast_network = FastNetwork::kAll;
  std::vector<DeviceInfo> devices;
};

/// Memory of a compiled program, in bytes per device.
struct MemoryStats {
  int64_t argument_bytes = 0, output_bytes = 0, temporary_bytes = 0, alias_bytes = 0,
          code_bytes = 0;
  int64_t host_bytes = 0;
  /// The most bytes alive at once, without padding and gaps; 0: the plugin does not report it.
  int64_t peak_bytes = 0;
  /// Returns the sum of arguments, results not aliased with a donated argument, temporaries and
  /// code.
  int64_t total_bytes() const {
    return argument_bytes + output_bytes - alias_bytes + temporary_bytes + code_bytes;
  }
};

/// A tensor on the devices of one runtime. Its value may still be being computed. A donated array
/// may not be used again.
class Array {
 public:
  Array(Type type, PartitionSpec sharding)
      : type_(std::move(type)), sharding_(std::move(sharding)) {}
  virtual ~Array() = default;
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  /// The type of the whole tensor, not of a shard.
  const Type& type() const { return type_; }
  const PartitionSpec& sharding() const { return sharding_; }
  /// Waits for the value, then copies the whole tensor. Throws DeviceError if the computation
  /// failed or the array was donated.
  virtual HostTensor to_host() const = 0;
  /// Waits until the value is computed. Throws DeviceError as to_host does.
  virtual void wait() const = 0;

 private:
  Type type_;
  PartitionSpec sharding_;
};
using ArrayPtr = std::shared_ptr<Array>;
using Arrays = std::vector<ArrayPtr>;

/// A compiled program. If it was compiled for absent devices, it can be inspected and saved but not
/// run.
class CompiledProgram {
 public:
  virtual ~CompiledProgram() = default;
  /// Returns bytes for Runtime::load. Throws DeviceError if the plugin cannot serialize.
  virtual std::string serialize() const = 0;
  virtual std::optional<MemoryStats> memory() const = 0;
  /// Returns the optimised program as the plugin returns it (an HloModuleProto); empty if it
  /// returns none.
  virtual std::string optimized_program() const = 0;
  /// Returns the compiler's cost figures by name, "flops" or "bytes accessed"; empty if it has
  /// none. The body of a loop counts once.
  virtual std::map<std::string, double> cost_analysis() const { return {}; }
};

/// A compiled program that this process can run.
class Executable : public CompiledProgram {
 public:
  /// Starts the program and returns its results, which are usable at once and get their values
  /// later. Inputs with `donated_to` are consumed. Throws ShapeError for arguments whose types are
  /// not the types of the program's inputs, and DeviceError if the program cannot be started.
  virtual Arrays execute(std::span<const ArrayPtr> arguments) = 0;
};

/// Settings for compiling a program.
struct CompileOptions {
  /// Names and values of the plugin's own compiler options. They win over Axle's own
  /// choices for the device. An option that the plugin does not know is a ConfigError.
  std::vector<std::pair<std::string, std::string>> overrides = {};
  /// Directory of serialized executables; empty: that of the runtime, if it has one.
  std::string cache_dir = {};
};

class Runtime {
 public:
  virtual ~Runtime() = default;
  virtual const Topology& topology() const = 0;
  /// Throws DeviceError with the plugin's message, and ConfigError naming an option that the plugin
  /// refuses.
  virtual std::unique_ptr<Executable> compile(const Program& program,
                                              const CompileOptions& options = {}) = 0;
  /// Loads the bytes that serialize() of the same plugin version returned. `program` provides the
  /// signature.
  virtual std::unique_ptr<Executable> load(const std::string& serialized,
                                           const Program& program) = 0;
  /// Copies to each device of `mesh` its shard of a whole tensor. Throws ConfigError if a dim is
  /// not divisible by its mesh axes.
  virtual ArrayPtr make_array(const HostTensor& value, const PartitionSpec& sharding,
                              const Mesh& mesh) = 0;
};

}  // namespace axle
