// Evaluates a trained model on text of the user's choice.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/input.h"
#include "evaluate/evaluate_task.h"
#include "interop/import_model.h"
#include "interop/model_folder.h"
#include "interop/save_model.h"
#include "ir/devices/mesh.h"
#include "recipes/resolve/resolve.h"
#include "train/evaluation/evaler.h"

namespace axle {

struct ResolvedEvaluation : Resolved {
  /// Whether nobody has chosen the length of rows, or their number in a batch: neither the edits,
  /// nor a run, as an imported model is none.
  bool fits_seq_len = false, fits_batch_size = false;
};

/// Returns the config of a trained model with its input over all of `data` once, then the edits.
/// The run's compiler options are dropped, because they belong to its device; options that the
/// edits set are kept. Throws ConfigError for an edit without effect: of a field that an evaluation
/// does not read, or that `data` decides.
ResolvedEvaluation resolve_evaluation(const ModelConfig& config, const UseData& data,
                                      const std::vector<Edit>& edits);

/// Makes rows shorter that nobody has chosen and that hold whole conversations or pairs, as far as
/// each of these still fits, and batches smaller that have more rows than there are. No metric
/// changes, since each conversation is a segment of its own. `facts` are about the config's
/// input. Returns true if the config has changed.
bool fit_rows(ResolvedEvaluation& evaluation, const InputFacts& facts, int64_t num_devices);

/// True if an evaluation reads the field of a config at this path, or below it.
bool is_read_by_evaluation(std::string_view path);

struct EvalRunOptions {
  /// Folder of a run or of an import, with config.yaml and checkpoints.
  ModelPath dir;
  /// Files and folders of text, in order, or "synthetic".
  std::vector<std::string> data;
  /// Edits of the run's config. Without edits, the input reads all of the text once. Fields that an
  /// evaluation does not read are refused.
  std::vector<Edit> edits = {};
  /// "cpu", "cuda", ... or "interpreter".
  std::string backend = "cpu";
  /// None: as many as the mesh names, or one if it names none.
  std::optional<int64_t> num_devices = {};
  Mesh mesh = {};
  Weights weights = Weights::kTrained;
  std::string compile_cache = {};
};

struct RunEvaluation {
  int64_t step = 0;  // of the checkpoint
  std::string data;
  EvalResult result;
  InputFacts facts;       // of the data
  ResolveReport changes;  // made by the edits
};

/// Restores the newest good checkpoint and evaluates the model on all of the text once. Throws
/// ConfigError if the folder holds no run or the edits make another model than the saved one,
/// DataError for bad text, StorageError for damaged checkpoints.
RunEvaluation evaluate_run(const EvalRunOptions& options);

/// Throws Error with kValidationFailed naming a metric that is NaN or infinite, if there is one.
void check_finite(const RunEvaluation& evaluation);

std::string to_text(const RunEvaluation& evaluation);
/// Returns {step, data, num_files, num_skipped, skipped: {reason: count}, num_targets, num_bytes,
/// byte_entropy_bits, metrics: {loss, ...}}; byte_entropy_bits is null if it is unknown.
nlohmann::ordered_json to_json(const RunEvaluation& evaluation);

struct EvalTasksOptions {
  /// Folder of a run, of an import or of Hugging Face, or a GGUF file.
  ModelPath dir;
  /// Files of tasks.
  std::vector<std::filesystem::path> tasks;
  /// None: all documents.
  std::optional<int64_t> limit = {};
  /// Replaces the tasks' own; none: theirs.
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
