// Evaluates a trained model on text of the user's choice.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "interop/model_folder.h"
#include "ir/devices/mesh.h"
#include "recipes/resolve/resolve.h"
#include "train/evaluation/evaler.h"

namespace axle {

struct EvalRunOptions {
  /// Folder of a run or of an import, with config.yaml and checkpoints.
  ModelPlace dir;
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

}  // namespace axle
