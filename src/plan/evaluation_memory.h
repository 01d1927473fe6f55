// The memory that evaluations of a run need beside its training state.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "plan/compile_report.h"
#include "recipes/resolve/resolve.h"
#include "train/evaluation/evaluations.h"
#include "train/training_parts.h"

namespace axle {

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

/// Compiles an evaluation: a program that takes the place of the step.
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
  std::optional<TrainingParts> training_;  // none: the config has no evalers
  std::optional<Evaluations> evaluations_;
};

/// Returns a line for each evaluation that was compiled.
std::string to_text(const std::vector<EvaluationMemory>& evaluations, int64_t device_memory_bytes);
nlohmann::ordered_json to_json(const std::vector<EvaluationMemory>& evaluations);

}  // namespace axle
