// Puts tasks to a trained model.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "evaluate/evaluate_task.h"
#include "interop/model_place.h"
#include "interop/weights.h"
#include "ir/devices/mesh.h"

namespace axle {

struct EvalTasksOptions {
  /// Folder of a run, of an import or of Hugging Face, or a GGUF file.
  ModelPlace dir;
  /// Files of tasks.
  std::vector<std::filesystem::path> tasks;
  /// None: all documents.
  std::optional<int64_t> limit = {};
  /// In place of those of the tasks; none: theirs.
  std::optional<int64_t> num_fewshot = {};
  /// Tokens that are scored at once, about.
  int64_t batch_tokens = kBatchTokens;
  /// Receives one line for each document; empty: none is written.
  std::filesystem::path samples = {};
  std::string backend = "cpu";
  std::optional<int64_t> num_devices = {};
  Mesh mesh = {};
  Weights weights = Weights::kTrained;
  std::string compile_cache = {};
};

struct TasksEvaluation {
  int64_t step = 0;  // of the checkpoint
  std::vector<TaskResult> results;
};

/// Throws ConfigError for tasks that are not understood and names that repeat, DataError for their
/// documents, and as load_model() does.
TasksEvaluation evaluate_tasks(const EvalTasksOptions& options);

/// Throws Error with kValidationFailed naming a metric that is NaN or infinite, if there is one.
void check_finite(const TasksEvaluation& evaluation);

std::string to_text(const TasksEvaluation& evaluation);
/// {"step", "tasks": to_json(results)}
nlohmann::ordered_json to_json(const TasksEvaluation& evaluation);

}  // namespace axle
