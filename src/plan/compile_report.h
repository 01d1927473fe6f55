// What compiling a recipe's training step for a target tells: whether it fits, what it costs, what
// it sends over the network. No device of the target is needed.
#pragma once

#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "hlo/collectives.h"
#include "hlo/memory.h"
#include "hlo/work.h"
#include "pjrt/compile/compiler.h"
#include "plan/compiler_findings.h"
#include "plan/graph_cost.h"
#include "plan/state_memory.h"
#include "plan/step_estimate.h"
#include "recipes/resolve.h"
#include "runtime/runtime.h"
#include "targets/target.h"
#include "train/trainer.h"

namespace axle {

/// A training step on the mesh of a target, ready for its compiler.
struct LoweredStep {
  std::string recipe;
  Target target;
  Program program;
  /// The compiler's, by name.
  std::map<std::string, std::string> options = {};
  StepSize size = {};
  int64_t num_parameters = 0;
  std::vector<std::string> warnings = {};
  double seconds = 0;  // to trace, differentiate and lower
};

/// Lowers the step of a config to which the mesh rule of the target was applied; its data are not
/// read. Throws RefusedMeshError for a mesh that does not fit the model, its batch or the target:
/// it tells the memory that the training state would need there all the same.
LoweredStep lower_step(const Trainer::Config& config, std::string recipe, const Target& target);

struct CompileReport {
  std::string recipe, target, machine;
  /// Of the config: which mesh rule it got.
  ResolveReport resolution = {};
  int64_t num_devices = 1;
  std::string mesh = {};
  std::string compiler = {};  // its versions, "xla_version 0.10.2"
  StepSize size = {};
  int64_t num_parameters = 0;
  GraphCost cost = {};
  /// Bytes of one device; none where the plugin does not tell.
  std::optional<MemoryStats> memory = {};
  /// Bytes of one device that programs get; 0: not known.
  int64_t device_memory_bytes = 0;
  /// All that the device has; 0: not known, or the same.
  int64_t whole_memory_bytes = 0;
  /// Why the compiler refused a program as too large for the device; empty: it did not.
  std::string too_large = {};
  /// What a device holds when it holds the most beside arguments and results, or where the compiler
  /// refused the program, what it lists as the largest buffers. Empty: not known.
  std::vector<Temporary> largest = {};
  /// The compiler's own figures; a loop's body counts once.
  std::map<std::string, double> compiler_cost = {};
  /// None: not known, since the plugin does not show the program that it made.
  std::optional<std::vector<CollectiveRow>> collectives = {};
  /// Why a program that the plugin shows could not be read; empty: it could.
  std::string unreadable = {};
  /// Of one device, as compiled; none: not known.
  std::optional<DeviceWork> work = {};
  std::optional<StepEstimate> estimate = {};
  /// How often each argument is gathered in each pass.
  std::vector<ArgumentGathers> gathers = {};
  /// What the compiler did beside what it was asked for, and what it says itself.
  std::vector<std::string> findings = {}, compiler_warnings = {};
  /// Names of the program's arguments, which rows of collectives refer to by number.
  std::vector<std::string> arguments = {};
  /// Of resharding, where the collectives are known.
  std::vector<std::string> warnings = {};
  double lower_seconds = 0, compile_seconds = 0;
  std::filesystem::path saved = {};
  /// Why it was compiled but not saved.
  std::exception_ptr not_saved = {};

  /// Bytes of one device that are left over; below 0: too many by so many. None: not known.
  std::optional<int64_t> headroom_bytes() const;
  /// None: not known.
  std::optional<bool> fits() const;
};

/// Compiles the step, and keeps the executable in the file `save` unless that is empty; throws
/// StorageError before compiling where no file can be written there. Throws
/// DeviceError where the plugin is missing or its compiler refuses the program (kDoesNotCompile),
/// ConfigError for an option that it does not know.
CompileReport compile_report(const LoweredStep& step, const std::filesystem::path& save = {});
/// The same by another compiler than that of the target's platform.
using MakeCompiler = std::function<std::unique_ptr<Compiler>()>;
CompileReport compile_report(const LoweredStep& step, const MakeCompiler& make,
                             const std::filesystem::path& save = {});

/// What a program that compiles ends with: kOk only where it is known to fit. Throws DeviceError
/// where that is not known.
ExitCode exit_code_of(const CompileReport& report);

std::string to_text(const CompileReport& report);
nlohmann::ordered_json to_json(const CompileReport& report);
/// What stands in place of a report where the mesh was refused.
nlohmann::ordered_json to_json(const RefusedMeshError& error, const Resolved& resolved,
                               const Target& target);

}  // namespace axle
