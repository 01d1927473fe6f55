// What a compile takes: settings of the compiler, options of the build, the target's lowering, the
// request.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lower/stablehlo.h"
#include "pjrt/abi/executable.h"
#include "pjrt/plugin/plugin.h"
#include "pjrt/plugin/plugin_watch.h"
#include "runtime/runtime.h"

// XLA's CompileOptionsProto, encoded by hand with only the fields that Axle sets. Equal options
// always encode to equal bytes.

// Field numbers of the messages of XLA's compile options, by the names of the fields.
//
// Source: xla/pjrt/proto/compile_options.proto and xla/xla_data.proto of OpenXLA.
namespace axle::build_option_fields {

enum CompileOptions { kBuildOptions = 3, kOverrides = 7 };
// debug_options (3) is never sent: that message would replace all defaults, even for the fields
// that it leaves out.
enum BuildOptions {
  kDeviceOrdinal = 1,
  kNumReplicas = 4,
  kNumPartitions = 5,
  kUseSpmd = 6,
  kDeviceAssignment = 9,
  kDeviceMemorySize = 15,
  kUseShardy = 19
};
enum DeviceAssignment { kReplicaCount = 1, kComputationCount = 2, kComputationDevices = 3 };
enum ComputationDevice { kReplicaDeviceIds = 1 };
enum Override { kKey = 1, kValue = 2 };
enum OverrideValue { kString = 1, kBool = 2 };

}  // namespace axle::build_option_fields

namespace axle {

struct BuildOptions {
  /// Number of devices that run the program together. More than 1 means SPMD with Shardy as the
  /// partitioner.
  int64_t num_partitions = 1;
  /// Device id of each partition; empty: the plugin chooses.
  std::vector<int64_t> device_ids = {};
  /// Device memory that the compiler may plan with, in bytes; 0: the compiler guesses.
  int64_t device_memory_bytes = 0;
  /// Compiler settings as (name, value), on top of the plugin's defaults. If a name occurs twice,
  /// the last value wins.
  std::vector<std::pair<std::string, std::string>> overrides = {};
};

std::string encode_build_options(const BuildOptions& options);

// The compiler settings that Axle chooses for each kind of device, as one table. A user's own value
// for the same name wins.

using Setting = std::pair<std::string, std::string>;  // name, value
using Settings = std::vector<Setting>;

/// Whether the compiler has the device itself, to measure on, or only its description.
enum class DevicePresence { kPresent, kDescribed };

/// The condition, besides the kind of device, under which a row applies.
enum class SettingScope {
  kAlways,
  kSeveralSlices,   // the devices form several slices, which only the slow network joins
  kWithoutDevices,  // the devices are only described
};

struct CompilerSetting {
  std::string platform;
  /// Prefix of the device kind that the plugin prints ("TPU v6 lite"); empty: every kind.
  std::string device_kind;
  SettingScope scope = SettingScope::kAlways;
  std::string name, value;
  std::string why;
};

/// Returns all rows of the table.
const std::vector<CompilerSetting>& compiler_settings();

/// Returns the settings that apply to the devices of `topology`, in the order of the table.
Settings settings_for(const Topology& topology, DevicePresence presence);

/// Throws ConfigError if a user sets more options than anyone needs.
void check_user_settings(size_t count);

// A request to a plugin's compiler. It is the same for devices of this process and for devices
// that are only described.

class PjrtCompileRequest {
 public:
  /// Compiles for the devices of `topology`, placed in the program's mesh by device_order. Throws
  /// what device_order and check_user_settings throw.
  PjrtCompileRequest(const Plugin& plugin, const Topology& topology, DevicePresence presence,
                     const Program& program, const CompileOptions& options);
  PjrtCompileRequest(const PjrtCompileRequest&) = delete;
  PjrtCompileRequest& operator=(const PjrtCompileRequest&) = delete;

  /// The encoded compile options, which are part of the key of the executable cache.
  const std::string& encoded() const { return encoded_; }
  /// Fills in `call`, which is ClientCompile or Compile, and makes it. If the compiler refuses the
  /// program, it throws:
  ///   ConfigError      the compiler's message names an option that the user has set
  ///   DoesNotFitError  the program needs more memory than the device has
  ///   DeviceError      otherwise, with exit code kDoesNotCompile
  /// A compiler that aborts the process does so within a PluginTask.
  template <class Call>
  void make(Call& call) const {
    call.program = &source_.value;
    call.compile_options = {encoded_.data(), encoded_.size()};
    const PluginTask task(where() + of_plugin(), "be compiled");
    if (const auto failure = plugin_.try_call(call)) fail(*failure);
  }

 private:
  std::string where() const;
  std::string of_plugin() const;
  [[noreturn]] void fail(const PluginFailure& failure) const;

  const Plugin& plugin_;
  std::string name_;
  std::string text_;
  Settings users_, defaults_;
  std::string encoded_;
  Plugin::Padded<pjrt::Program> source_;
};

/// Compiles a program and drops the result. Throws DeviceError with the compiler's
/// message.
using TryCompile = std::function<void(const Program& program)>;

/// Returns the lowering target for the devices of a topology, for which `compile` compiles. To find
/// whether the compiler has an op, it compiles a small program over all devices, once per process
/// and topology.
LoweringTarget lowering_target(const Plugin& plugin, const Topology& topology, TryCompile compile);

/// Writes a warning to standard error for each op of the program that is not lowered to its best
/// form, once per process for equal ones.
void report_fallbacks(const Program& program);

/// Returns compile(program). A program that depends on its target is lowered for `target()` first,
/// and its fallbacks are reported.
template <class TargetOf, class Compile>
auto compile_for(const Program& program, TargetOf&& target, Compile&& compile) {
  if (!program.depends_on_target) return compile(program);
  const Program lowered = lowered_for(program, target());
  report_fallbacks(lowered);
  return compile(lowered);
}

}  // namespace axle
