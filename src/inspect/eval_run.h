// A trained model on text of the user's choice.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "infer/model_folder.h"
#include "ir/mesh.h"
#include "recipes/resolve.h"
#include "train/evaler.h"

namespace axle {

struct EvalRunOptions {
  /// Folder of a run or of an import: config.yaml and checkpoints.
  std::filesystem::path dir;
  /// A file or folder of text, or "synthetic".
  std::string data;
  /// Of the run's config, whose input reads all of the text once unless they say otherwise. Those
  /// of fields that an evaluation does not read are refused.
  std::vector<Edit> edits = {};
  /// "cpu", "cuda", ... or "interpreter".
  std::string backend = "cpu";
  /// None: as many as the mesh names.
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
  ResolveReport changes;  // that the edits made
};

/// Restores the newest good checkpoint and runs all of the text through the model once. Throws
/// ConfigError where the folder holds no run or the edits make another model than was saved,
/// DataError for bad text, StorageError for damaged checkpoints.
RunEvaluation evaluate_run(const EvalRunOptions& options);

/// Throws Error with kValidationFailed naming a metric that is NaN or infinite.
void check_finite(const RunEvaluation& evaluation);

std::string to_text(const RunEvaluation& evaluation);
/// {step, data, num_files, num_skipped, skipped: {reason: count}, num_targets, num_bytes,
/// byte_entropy_bits, metrics: {loss, ...}}; byte_entropy_bits is null where it is not known.
nlohmann::ordered_json to_json(const RunEvaluation& evaluation);

}  // namespace axle
