// Where programs run: PJRT plugins and the reference interpreter behind one interface.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/host_tensor.h"
#include "lower/program.h"

namespace axle {

class Plugin;

/// One device, here or only described.
struct DeviceInfo {
  int64_t id = 0;
  std::string kind;                          // as the plugin names it, "cpu" or "NVIDIA H100"
  std::optional<int64_t> memory_bytes = {};  // none where the plugin does not tell
  int64_t process = 0;                       // of the job, so on GPUs the node
  int64_t slice = 0;                         // of several TPU slices
  /// Position in the network: x, y, z on a TPU torus; empty where the plugin does not tell.
  std::vector<int64_t> coords = {};
};

/// Which devices the fast network joins.
enum class FastNetwork {
  kAll,      // all alike: virtual devices
  kProcess,  // those of one process, which is one node
  kSlice     // those of one slice
};

struct Topology {
  std::string platform;          // "cpu", "cuda", "tpu", "interpreter"
  std::string platform_version;  // as the plugin prints it
  FastNetwork fast_network = FastNetwork::kAll;
  std::vector<DeviceInfo> devices;
};

/// Bytes per device of a compiled program.
struct MemoryStats {
  int64_t argument_bytes = 0, output_bytes = 0, temporary_bytes = 0, alias_bytes = 0,
          code_bytes = 0;
  int64_t host_bytes = 0;
  /// The most that is alive at once, without padding and gaps; 0 where the plugin does not tell.
  int64_t peak_bytes = 0;
  /// Arguments, results that do not take over an argument, temporaries and code.
  int64_t total_bytes() const {
    return argument_bytes + output_bytes - alias_bytes + temporary_bytes + code_bytes;
  }
};

/// A tensor on the devices of one runtime, maybe still being computed. Once donated it may not be
/// used again.
class Array {
 public:
  Array(Type type, PartitionSpec sharding)
      : type_(std::move(type)), sharding_(std::move(sharding)) {}
  virtual ~Array() = default;
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  /// Of the whole tensor, not of a shard.
  const Type& type() const { return type_; }
  const PartitionSpec& sharding() const { return sharding_; }
  /// Waits, then copies the whole tensor. Throws DeviceError if computing it failed or it was
  /// donated.
  virtual HostTensor to_host() const = 0;
  /// Waits until the value is there. Throws DeviceError as to_host does.
  virtual void wait() const = 0;

 private:
  Type type_;
  PartitionSpec sharding_;
};
using ArrayPtr = std::shared_ptr<Array>;
using Arrays = std::vector<ArrayPtr>;

/// A program in a device's own code. Compiled for devices that are not here, it can be measured and
/// kept, not run.
class CompiledProgram {
 public:
  virtual ~CompiledProgram() = default;
  /// Bytes that Runtime::load takes. Throws DeviceError where the plugin cannot.
  virtual std::string serialize() const = 0;
  virtual std::optional<MemoryStats> memory() const = 0;
  /// The optimised program as the plugin gives it (an HloModuleProto); empty where there is none.
  virtual std::string optimized_program() const = 0;
  /// The compiler's own figures by name, "flops" or "bytes accessed"; empty where it has none. A
  /// loop's body counts once.
  virtual std::map<std::string, double> cost_analysis() const { return {}; }
};

/// A compiled program that this process can run.
class Executable : public CompiledProgram {
 public:
  /// Starts the program; results are usable at once, their values arrive later. Inputs with
  /// `donated_to` are consumed. Throws DeviceError, ShapeError for arguments of other types than
  /// the program's.
  virtual Arrays execute(std::span<const ArrayPtr> arguments) = 0;
};

/// Compiler settings beside the program.
struct CompileOptions {
  /// Names and values as the plugin's compiler knows them; they win over the table of
  /// compiler_settings.h. One that the plugin does not know is a ConfigError.
  std::vector<std::pair<std::string, std::string>> overrides = {};
  /// Directory of serialized executables; empty: nothing is cached.
  std::string cache_dir = {};
};

class Runtime {
 public:
  virtual ~Runtime() = default;
  virtual const Topology& topology() const = 0;
  /// What compiles and runs; nullptr: the interpreter.
  virtual const Plugin* plugin() const { return nullptr; }
  /// Throws DeviceError with the plugin's message, ConfigError naming an option that it refuses.
  virtual std::unique_ptr<Executable> compile(const Program& program,
                                              const CompileOptions& options = {}) = 0;
  /// From Executable::serialize of the same plugin version; `program` gives the signature.
  virtual std::unique_ptr<Executable> load(const std::string& serialized,
                                           const Program& program) = 0;
  /// Copies a whole tensor to the devices of `mesh`, each its shard. Throws ConfigError where a dim
  /// does not divide.
  virtual ArrayPtr make_array(const HostTensor& value, const PartitionSpec& sharding,
                              const Mesh& mesh) = 0;
};

}  // namespace axle
