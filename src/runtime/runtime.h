// Where programs run: PJRT plugins and the reference interpreter behind one interface.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/host_tensor.h"
#include "lower/program.h"

namespace axle {

/// One device that a runtime can address.
struct DeviceInfo {
  int64_t id = 0;
  std::string kind;                          // as the plugin names it, "cpu" or "NVIDIA H100"
  std::optional<int64_t> memory_bytes = {};  // none where the plugin does not tell
};

struct Topology {
  std::string platform;          // "cpu", "cuda", "tpu", "interpreter"
  std::string platform_version;  // as the plugin prints it
  std::vector<DeviceInfo> devices;
};

/// Bytes per device of a compiled program.
struct MemoryStats {
  int64_t argument_bytes = 0, output_bytes = 0, temporary_bytes = 0, alias_bytes = 0,
          code_bytes = 0;
  int64_t host_bytes = 0;
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

class Executable {
 public:
  virtual ~Executable() = default;
  /// Starts the program; results are usable at once, their values arrive later. Inputs with
  /// `donated_to` are consumed. Throws DeviceError, ShapeError for arguments of other types than
  /// the program's.
  virtual Arrays execute(std::span<const ArrayPtr> arguments) = 0;
  /// Bytes that Runtime::load takes. Throws DeviceError where the plugin cannot.
  virtual std::string serialize() const = 0;
  virtual std::optional<MemoryStats> memory() const = 0;
  /// The optimised program as the plugin gives it (an HloModuleProto); empty where there is none.
  virtual std::string optimized_program() const = 0;
};

/// Compiler settings beside the program.
struct CompileOptions {
  /// Names and values as the plugin's compiler knows them; unknown ones are refused by the plugin.
  std::vector<std::pair<std::string, std::string>> overrides = {};
  /// Directory of serialized executables; empty: nothing is cached.
  std::string cache_dir = {};
};

class Runtime {
 public:
  virtual ~Runtime() = default;
  virtual const Topology& topology() const = 0;
  /// Throws DeviceError with the plugin's message.
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

struct RuntimeOptions {
  /// "cpu", "cuda", "tpu", ... (a PJRT plugin), or "interpreter".
  std::string backend = "cpu";
  /// Virtual devices of the CPU client; other platforms have the devices that they have.
  int64_t num_devices = 1;
};

/// Throws DeviceError naming the one command that gets a missing plugin.
std::unique_ptr<Runtime> make_runtime(const RuntimeOptions& options);

}  // namespace axle
