// Folders that hold a model: folders of training runs and folders of imported weights. Both have
// the same layout:
//   config.yaml            the trainer's config; only `model`, `input` and `compute_dtype` are read
//   checkpoints/step_<n>/  one or more checkpoints
//
// A checkpoint of a run also keeps the config that it was trained with. That copy is read instead
// of config.yaml, which may already be the config of later steps that were lost.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/text/text.h"
#include "checkpoint/manifest.h"
#include "data/batch.h"
#include "data/input.h"
#include "data/tokenizers/tokenizer.h"
#include "interop/import_model.h"
#include "interop/save_model.h"
#include "ir/host_tensor.h"
#include "layers/models/model.h"
#include "nn/param.h"

namespace axle {

/// Whether a run without text will do, whose data is synthetic: it has no tokenizer.
enum class RunData { kText, kAny };

/// A model with its parameters in host memory.
struct LoadedModel {
  Child<Model> config;
  std::unique_ptr<Model> model;
  /// "model/...", and the state of layers, "state/...", without the frozen models.
  Tree<HostTensor> parameters;
  /// Empty for a run on synthetic data.
  Child<Tokenizer> tokenizer_config;
  std::unique_ptr<Tokenizer> tokenizer;
  /// The longest sequence that the model supports: the decoder's max_seq_len, else the input's
  /// seq_len.
  std::optional<int64_t> context_len;
  /// Type that the run computes in; none: the types of the parameters.
  std::optional<DType> compute_dtype = {};
  /// The streams of positions of the run's input.
  StreamRule streams = {};
  /// The run's input: a class with its fields.
  nlohmann::ordered_json input = {};
  /// The run's learner: a class with its fields. Null for an import.
  nlohmann::ordered_json learner = {};
  /// The file of the chat template that the run keeps (tokenizer_files.h); empty: none.
  std::filesystem::path chat_template_file = {};
  /// Training step of the checkpoint.
  int64_t step = 0;
};

/// Reads the newest good checkpoint and keeps only its parameters and the state of layers. Reports
/// damaged checkpoints to `report`. Throws ConfigError for a folder without config or checkpoint, a
/// config without a tokenizer (except with RunData::kAny), kAverage if the run kept no average, and
/// parameters that do not match the config's model; DataError if the tokenizer's file is
/// missing; StorageError if all checkpoints are damaged.
LoadedModel load_model(const ModelPath& place, Weights weights = Weights::kTrained,
                       const Report& report = report_to_stderr, RunData data = RunData::kText);

/// The config of a model folder: of its checkpoint, or of an import's config.yaml. Tokenizer files
/// in the folder are named through it (tokenizer_files.h), so that the folder can be moved.
struct ModelConfig {
  nlohmann::ordered_json document;  // a mapping
  std::string source;               // the file, for messages
};
/// Returns the config of a run, an import or a model of another program (is_foreign_model), without
/// its weights. A tokenizer's file that is not where the config says is replaced by the file of the
/// same name in the folder, if there is one, and `report` says so. Throws as load_model does;
/// ConfigError for a place that leaves out fields of a run.
ModelConfig model_config(const ModelPath& place, const Report& report = report_to_stderr);
/// Returns the prefix of the parameters' names in checkpoints: "model" or "learner/ema/model".
std::string_view stored_prefix(Weights weights);

struct ModelParameters {
  Tree<HostTensor> by_path;  // "model/...", "state/..."
  int64_t step = 0;
  // Weights that became codes, and how many of these were rounded (load_initial_parameters).
  int64_t num_coded = 0, num_rounded = 0;
};
/// Returns the specs of every parameter of the model by its path, and of the state of its layers
/// below "state/".
Tree<ParamSpec> stored_specs(const Model& model);
/// Returns the specs of the tensors to load from a checkpoint with this config.
using SpecsOfConfig = std::function<Tree<ParamSpec>(const ModelConfig& config)>;
/// Loads exactly the tensors that `specs_of` names from the newest good checkpoint. Calls
/// `specs_of` again, with the config of an older checkpoint, if one turns out to be damaged. Throws
/// as load_model does; ConfigError naming all tensors that are missing, of another type or not
/// named, before any is read; Error with kValidationFailed naming a tensor that holds a NaN or an
/// infinity.
ModelParameters load_parameters(const ModelPath& place, const SpecsOfConfig& specs_of,
                                Weights weights = Weights::kTrained,
                                const Report& report = report_to_stderr);
/// Loads what a new run of `model` begins with: the parameters, and the state of layers if the
/// checkpoint holds any. Of a run that trained a model beside a frozen one it is the trained one
/// (Model::frozen_models). Parameters of adapters (LoraProduct) are left out if the checkpoint
/// holds none of them. Weights that `model` keeps as codes (QuantizedProduct) become codes if the
/// checkpoint holds them as numbers. Throws as load_parameters does.
ModelParameters load_initial_parameters(const ModelPath& place, const Model& model,
                                        const Report& report = report_to_stderr);

/// What to load from a checkpoint: tensors of the model, or of the part of it at this path.
struct StoredPart {
  Tree<ParamSpec> specs;  // by the names in the part
  std::string part = {};  // TrainedPart::path

  /// Returns the name in the part of a stored tensor: a parameter below `prefix` and the part, or
  /// the state of a layer if the specs ask for any. none for all other tensors.
  std::optional<std::string> name_of(const std::string& stored, std::string_view prefix) const;
};

/// Returns the path in the whole model of a parameter of the part: "model/policy/decoder/..." of
/// "model/decoder/...".
std::string path_in(const std::string& part, const std::string& path);
/// Whether the checkpoint holds state of layers of the part.
bool keeps_layer_state(const Manifest& manifest, const std::string& part);

}  // namespace axle
