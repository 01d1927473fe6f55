// The tensors of a checkpoint, for people and for other programs: what there is, and as a file.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/tree.h"
#include "infer/model_folder.h"

namespace axle {

/// What is wanted of the checkpoints in a folder of a run or of an import.
struct CheckpointSelection {
  std::filesystem::path dir;
  /// None: the newest.
  std::optional<int64_t> step = {};
  /// Parameters, under their names in `axle params`; none: all of the training state, under its own
  /// names: "model/...", "learner/...", "prng_key".
  std::optional<Weights> weights = Weights::kTrained;
  /// "decoder/**/weight": `*` within a part of the name, `**` over parts.
  std::string only = "**";
};

struct CheckpointListing {
  std::filesystem::path root;
  std::vector<int64_t> steps;  // of all checkpoints, ascending
  int64_t step = 0;            // of the one that is listed
  Tree<Type> tensors;
  int64_t total_bytes() const;
};

/// Reads and checks the manifest, not the data. Throws ConfigError where there is no such folder,
/// step or tensor; StorageError for a damaged manifest.
CheckpointListing list_checkpoint(const CheckpointSelection& selection);
std::string to_text(const CheckpointListing& listing);
/// {steps, step, tensors: {name: {shape, dtype, bytes}}, total_bytes}; dtypes as NumPy calls them.
nlohmann::ordered_json to_json(const CheckpointListing& listing);

/// Writes the tensors to a safetensors file whose metadata hold "step" and "axle", the version.
/// Throws as list_checkpoint does, also for damaged data and where `file` can't be written.
CheckpointListing export_checkpoint(const CheckpointSelection& selection,
                                    const std::filesystem::path& file);

}  // namespace axle
