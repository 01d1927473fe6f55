// The report of compiling a recipe's training step for a target: whether the step fits, what it
// costs and what it sends over the network. No device of the target is needed.
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

#include "base/error.h"
#include "hlo/collectives.h"
#include "hlo/memory.h"
#include "hlo/work.h"
#include "ir/devices/mesh.h"
#include "ir/tensor.h"
#include "pjrt/compiler.h"
#include "plan/compiler_findings.h"
#include "recipes/resolve/resolve.h"
#include "runtime/runtime.h"
#include "targets/target.h"
#include "train/config/trainer_config.h"

namespace axle {

/// Returns sentences about the virtual devices of a CPU target: what memory they share, and what
/// the step offloads to the host without effect. Empty for other targets. `host_memory_bytes` is
/// the memory of this machine; 0: not known.
std::vector<std::string> virtual_device_findings(const Region& step, const Target& target,
                                                 int64_t host_memory_bytes);

/// Returns a line for each layer, shape and dim in `graph` that a sharding_constraint shards over a
/// number of devices that does not divide the dim. Groups of devices then do the same work.
std::vector<std::string> unmet_layouts(const Region& graph, const Mesh& mesh);

/// The times of one device if every unit reaches its published rate. Computing and moving data of
/// the main memory overlap within an instruction but not across instructions. The networks overlap
/// with both, except for collectives during which nothing is computed.
struct StepEstimate {
  double seconds = 0;
  /// Total time of each unit alone.
  double compute_seconds = 0, memory_seconds = 0, fast_network_seconds = 0,
         slow_network_seconds = 0;
  /// The part of the network seconds during which nothing is computed.
  double waiting_seconds = 0;
  std::string bound = {};  // "compute", "memory", "network (fast)" or "network (slow)"
  double tokens_per_second = 0;
  /// Model FLOPs of the step, by the published convention, divided by the FLOPs that all devices
  /// could do in `seconds` at their bf16 peak.
  double mfu = 0;
};

struct StepCounts {
  double tokens = 0, model_flops = 0;
};

DeviceRates rates_of(const Accelerator& accelerator);

/// Returns none if the accelerator's peak or memory bandwidth is not known.
std::optional<StepEstimate> estimate_step(const DeviceWork& work,
                                          const std::vector<CollectiveRow>& rows,
                                          const Target& target, const StepCounts& size);

/// The work of one run on all devices together. A loop's body counts in each iteration, and
/// recomputation (remat) counts again.
struct GraphCost {
  double flops = 0;
  /// Bytes of the operands and results of all ops, as if no op were fused. Names, constraints and
  /// other views of the same bytes count nothing (CostRule).
  double bytes = 0;
};

GraphCost graph_cost(const Region& graph);

/// A training step on the mesh of a target, ready for its compiler.
struct LoweredStep {
  std::string recipe;
  Target target;
  Program program;
  /// Compiler options by name.
  std::map<std::string, std::string> options = {};
  StepCounts size = {};
  int64_t num_parameters = 0;
  std::vector<std::string> warnings = {};
  /// Which form layers compute and why, by path (CallForms).
  std::map<std::string, std::string> forms = {};
  double seconds = 0;  // time to trace, differentiate and lower the step
};

/// Lowers the training step of a config, to which the mesh rule of the target must have been
/// applied. The config's data are not read. Throws RefusedMeshError if the mesh does not fit the
/// model, its batch or the target; the error still reports the memory that the training state would
/// need.
LoweredStep lower_step(const Trainer::Config& config, std::string recipe, const Target& target);

/// Compiles the step for its target. Returns the optimised program as its plugin returns it, for
/// read_hlo_module. Throws DeviceError if the plugin is missing, returns none or refuses the step.
std::string optimized_program(const LoweredStep& step);

struct CompileReport {
  std::string recipe, target, machine;
  /// How the config was resolved, including the mesh rule that was applied.
  ResolveReport resolution = {};
  int64_t num_devices = 1;
  std::string mesh = {};
  std::string compiler = {};  // the compiler's versions, "xla_version 0.10.2"
  StepCounts size = {};
  int64_t num_parameters = 0;
  GraphCost cost = {};
  /// Memory of the program on one device; none: the plugin does not report it.
  std::optional<MemoryStats> memory = {};
  /// Bytes of one device that programs may use; 0: not known.
  int64_t device_memory_bytes = 0;
  /// Bytes of one device in all; 0: not known.
  int64_t whole_memory_bytes = 0;
  /// The compiler's message if it refused the program as too large for the device; else empty.
  std::string too_large_message = {};
  /// The largest temporaries at the memory peak of a device. If the compiler refused the program:
  /// the largest buffers that it lists, or the largest in our own estimate if it lists none.
  std::vector<TemporaryBuffer> largest = {};
  bool largest_are_estimates = false;
  /// The compiler's own cost figures by name; the body of a loop counts once.
  std::map<std::string, double> compiler_cost = {};
  /// None: not known, because the plugin does not return the optimised program or it is unreadable.
  std::optional<std::vector<CollectiveRow>> collectives = {};
  /// Why the optimised program could not be read; empty: it could, or the plugin returns none.
  std::string unreadable_reason = {};
  /// Work of one device in the optimised program; none: not known.
  std::optional<DeviceWork> work = {};
  std::optional<StepEstimate> estimate = {};
  /// How often each argument is gathered in each pass.
  std::vector<ArgumentGathers> gathers = {};
  /// How ops with several forms were lowered, and compiler_findings() and moves_finding().
  std::vector<Finding> findings = {};
  /// The compiler's own warnings; none without a PluginWatch that holds them back.
  std::vector<std::string> compiler_warnings = {};
  /// Names of the program's arguments, which CollectiveRow::arguments refers to by number.
  std::vector<std::string> arguments = {};
  /// Warnings about the model's FLOPs, and about layouts that cannot be met.
  std::vector<std::string> warnings = {};
  double lower_seconds = 0, compile_seconds = 0;
  /// The file of the saved executable; empty: not saved.
  std::filesystem::path saved = {};
  /// The error if the program was compiled but could not be saved; else null.
  std::exception_ptr save_error = {};

  /// Returns the bytes of one device that are left over; negative if the program needs too much.
  /// None: not known.
  std::optional<int64_t> headroom_bytes() const;
  /// True if the program fits on the device. None: not known.
  std::optional<bool> fits() const;
};

/// Compiles the step. Throws DeviceError if the plugin is missing or its compiler refuses the
/// program (kDoesNotCompile), and ConfigError for an option that the compiler does not know. A
/// program that is too large does not throw (CompileReport::too_large_message).
CompileReport compile_step(const LoweredStep& step);
/// Does the same with the compiler that `make` returns instead of the target's default one.
using MakeCompiler = std::function<std::unique_ptr<Compiler>()>;
CompileReport compile_step(const LoweredStep& step, const MakeCompiler& make);
/// Compiles the step and writes the executable to `file`. Throws as compile_step() does, and
/// StorageError, before compiling, if the file cannot be written. A program that compiles but
/// cannot be saved does not throw (CompileReport::save_error).
CompileReport compile_and_save_step(const LoweredStep& step, const std::filesystem::path& file);

/// Returns the exit code of a command that compiles: kOk if the program fits, else kDoesNotFit.
/// Throws DeviceError if it is not known whether the program fits.
ExitCode exit_code_of(const CompileReport& report);

}  // namespace axle
