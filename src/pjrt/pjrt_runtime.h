// The runtime of PJRT plugins.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "pjrt/client.h"
#include "runtime/runtime.h"

namespace axle {

class PjrtRuntime final : public Runtime {
 public:
  /// `num_devices` matters only for a platform of virtual devices (cpu). `compile_cache` has the
  /// meaning of RuntimeOptions::compile_cache. Throws DeviceError.
  PjrtRuntime(const Plugin& plugin, int64_t num_devices, std::string compile_cache = {});

  const Topology& topology() const override { return client_->topology(); }
  const Plugin& plugin() const { return client_->plugin(); }
  /// The target for which compile() lowers programs that depend on one.
  LoweringTarget lowering_target() const;
  std::unique_ptr<Executable> compile(const Program& program,
                                      const CompileOptions& options) override;
  std::unique_ptr<Executable> load(const std::string& serialized, const Program& program) override;
  ArrayPtr make_array(const HostTensor& value, const PartitionSpec& sharding,
                      const Mesh& mesh) override;

 private:
  std::unique_ptr<Executable> compile_lowered(const Program& program,
                                              const CompileOptions& options);
  std::shared_ptr<const PjrtClient> client_;
  std::string compile_cache_;
};

struct RuntimeOptions {
  /// "cpu", "cuda", "tpu", ... (a PJRT plugin), or "interpreter".
  std::string backend = "cpu";
  /// Number of virtual devices of the CPU client and the interpreter. Other platforms ignore this
  /// and use the devices that are present.
  int64_t num_devices = 1;
  /// Directory of serialized executables for programs that are compiled without a
  /// CompileOptions::cache_dir; empty: those programs are not cached.
  std::string compile_cache = {};
};

/// Throws ConfigError for an unknown backend, and DeviceError if the plugin is missing. The message
/// of the latter names the command that gets the plugin.
std::unique_ptr<Runtime> make_runtime(const RuntimeOptions& options);

}  // namespace axle
