// The parameters of a model and the tensors of a checkpoint, as tables.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/tree.h"
#include "interop/model_folder.h"
#include "ir/dtype.h"
#include "train/config/trainer_config.h"

namespace axle {

struct ParameterRow {
  /// Path within the model: "decoder/output_norm/scale".
  std::string path;
  Type type;
  /// Mesh axes of each dim.
  std::vector<DimAxes> axes;
  /// "normal(0, 1.0 / fan_in)".
  std::string init;
  /// Factor of the weight decay, from the layer, the learner's names or the optimizer's patterns;
  /// none: none of them sets one, and the factor is 1.
  std::optional<double> weight_decay_scale;
};

struct ParameterTable {
  std::vector<ParameterRow> rows;  // sorted by path
  int64_t total_params = 0;
};

/// Builds the model, and nothing else. Throws ConfigError if something is missing in it or it can't
/// be built.
ParameterTable parameter_table(const Trainer::Config& config);

std::string to_text(const ParameterTable& table);
/// {params: {path: {shape, dtype, axes, init, weight_decay_scale}}, total_params}; axes: for each
/// dim null, a name, or a list of names; dtypes as NumPy calls them.
nlohmann::ordered_json to_json(const ParameterTable& table);

/// Returns the name that NumPy and its extensions use: "float32", "bfloat16", "bool".
std::string_view numpy_name(DType dtype);

/// Selects a checkpoint of a run folder or an import folder, and tensors in it.
struct CheckpointSelection {
  std::filesystem::path dir;
  /// None: the newest; to list it, the newest with a good manifest.
  std::optional<int64_t> step = {};
  /// Which parameters, under their names in `axle params`. None: the whole training state, under
  /// its own names: "model/...", "learner/...", "prng_key".
  std::optional<Weights> weights = Weights::kTrained;
  /// Names to select, as in "decoder/**/weight": `*` matches within one part of a name, `**` any
  /// number of parts.
  std::string only = "**";
};

/// The selected tensors of one checkpoint.
struct CheckpointListing {
  std::filesystem::path root;
  std::vector<int64_t> steps;         // of all checkpoints, ascending
  std::vector<int64_t> damaged = {};  // those of them that are damaged; only in a list
  int64_t step = 0;                   // the listed checkpoint
  bool is_verified = false;           // all data were read and compared with their checksums
  Tree<Type> tensors;
  int64_t total_bytes() const;
};

/// How a list looks for damage.
enum class DamageCheck {
  kSizes,  // reads the manifests, and compares the sizes of the data files
  kBytes,  // also reads all data and compares their checksums
};
/// Lists the tensors of the selected checkpoint, by default of the newest that is not damaged.
/// Reports each damaged checkpoint with file and offset. Throws ConfigError if there is no such
/// folder, step or tensor; StorageError if the manifest of the selected step is damaged, or if no
/// step is selected and every checkpoint is damaged.
CheckpointListing list_checkpoint(const CheckpointSelection& selection,
                                  DamageCheck check = DamageCheck::kSizes,
                                  const Report& report = report_to_stderr);
std::string to_text(const CheckpointListing& listing);
/// {steps, damaged, verified, step, tensors: {name: {shape, dtype, bytes}}, total_bytes}; dtypes as
/// NumPy calls them.
nlohmann::ordered_json to_json(const CheckpointListing& listing);

/// Writes the tensors to a safetensors file, with "step" and "axle" (the version) as its metadata.
/// Throws as list_checkpoint does, and also if the data are damaged or `file` can't be written. The
/// error for a damaged checkpoint names the newest good one.
CheckpointListing export_checkpoint(const CheckpointSelection& selection,
                                    const std::filesystem::path& file);

}  // namespace axle
