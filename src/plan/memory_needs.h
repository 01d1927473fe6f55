// The memory that training and evaluation need on each device, and what a compiler says is lacking.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "hlo/memory.h"
#include "ir/devices/mesh.h"
#include "lower/stablehlo.h"
#include "plan/compile_report.h"
#include "recipes/resolve/resolve.h"
#include "train/config/run_modules.h"
#include "train/evaluation/evaluations.h"

namespace axle {

struct StateMemory {
  int64_t num_devices = 1;
  /// Bytes of the whole state, without replicas.
  double whole_bytes = 0;
  /// Bytes of the state on one device of the mesh; none: the mesh has no layout for the state.
  std::optional<double> device_bytes = {};
  /// Bytes of one device that programs may use; 0: not known.
  int64_t device_memory_bytes = 0;
  /// True if the state alone fits. Without a layout: false if all devices together have too little
  /// memory, else none. None as well if device_memory_bytes is 0.
  std::optional<bool> fits() const;
};

/// `mesh` is the mesh as the user wrote it; an axis of size -1 may be open.
StateMemory state_memory(const std::vector<ProgramValue>& state, const Mesh& mesh,
                         int64_t num_devices, int64_t device_memory_bytes);

/// Returns "the training state is 73.9 GiB, 9.2 GiB of it on each device: it fits into 72.8 GiB".
std::string to_text(const StateMemory& state);
nlohmann::ordered_json to_json(const StateMemory& state);

/// A mesh was refused. The message also states the memory of the training state.
struct RefusedMeshError : ConfigError {
  RefusedMeshError(std::string why, StateMemory of_state);
  std::string reason;
  StateMemory state;
};

/// What an evaluation needs of each device.
struct EvaluationMemory {
  std::string name;  // "evalers.held_out"
  /// Bytes of the training state and the program. None: by the estimate the evaluation needs no
  /// more than the step, so that it was not compiled; or the compiler did not say.
  std::optional<int64_t> bytes = {};
  /// True if the evaluation fits. None: not known.
  std::optional<bool> fits = {};
  /// If it does not fit: the rows of a batch with which it fits by proportion; none: none do.
  std::optional<SetField> change = {};
};

/// Compiles an evaluation: a program compiled instead of the step.
using CompileEvaluation =
    std::function<CompileReport(const LoweredStep& program, const std::string& name)>;

/// The evaluations of a config, traced for a mesh. Their data are not read.
class TracedEvaluations {
 public:
  /// Throws as Evaler does. `config` must outlive this.
  TracedEvaluations(const Trainer::Config& config, const Mesh& mesh);
  /// Returns what each needs beside the state of `step`, which was compiled to `report` and fits.
  /// Compiles only programs that need more than the step by an estimate. Throws as `compile` does.
  std::vector<EvaluationMemory> memory(const LoweredStep& step, const CompileReport& report,
                                       const CompileEvaluation& compile) const;

 private:
  const Trainer::Config& config_;
  std::optional<RunModules> modules_;  // none: the config has no evalers
  std::optional<Evaluations> evaluations_;
};

/// Returns a line for each evaluation that was compiled.
std::string to_text(const std::vector<EvaluationMemory>& evaluations, int64_t device_memory_bytes);
nlohmann::ordered_json to_json(const std::vector<EvaluationMemory>& evaluations);

// Reading how much memory a program lacks from the message of a compiler that refuses the program
// as too large for the device.
//
// Source: openxla/xla, docs/errors/error_1000.md; the sentences of libtpu 0.0.51.

struct MemoryShortage {
  /// Bytes on one device, as exact as the compiler prints them.
  int64_t needed = 0, available = 0;
  /// The part of the program's memory that `needed` counts: "temporaries"; empty: all of it.
  std::string of = {};
};

/// Reads the device memory from a refusal such as "Used 18.32G of 15.75G hbm". In the result,
/// `needed` is more than `available`. None if the refusal is phrased in an unknown way or is about
/// another memory than the device's.
std::optional<MemoryShortage> read_memory_shortage(std::string_view refusal);

/// Reads the list of the largest buffers that follows a refusal. It has lines like
/// "1. Size: 4.00G", "Operator: op_name=..." and "Shape: ...". Empty if there is no list.
std::vector<TemporaryBuffer> read_largest_buffers(std::string_view details);

}  // namespace axle
