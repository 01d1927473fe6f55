// Folders that hold a model: those of training runs and those of imported weights, which look
// alike.
//
// Layout: config.yaml (the trainer's config; of it `model`, `input` and `compute_dtype` count here)
// and checkpoints/step_<n>/. A checkpoint of a run keeps the config that it was trained with, which
// then counts: config.yaml may already be that of later steps, which were lost.
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

#include "base/report.h"
#include "data/tokenizer.h"
#include "ir/host_tensor.h"
#include "layers/model.h"

namespace axle {

/// Which parameters of a run are wanted.
enum class Weights { kTrained, kAverage };

/// A model with its parameters in host memory.
struct LoadedModel {
  std::unique_ptr<Model> model;
  Tree<HostTensor> parameters;  // by path: "model/...", and "state/...", what layers keep
  std::unique_ptr<Tokenizer> tokenizer;
  /// The longest text that the model is made for: the decoder's max_seq_len, else the input's
  /// seq_len.
  std::optional<int64_t> context_len;
  /// What the run computes in; none: in the parameters' own types.
  std::optional<DType> compute_dtype = {};
  /// The training step of the checkpoint.
  int64_t step = 0;
};

/// Reads the newest good checkpoint; of it only the parameters are kept. Damaged ones are told to
/// `report`. Throws ConfigError for a folder without config or checkpoint, a config without a
/// tokenizer, kAverage where none was kept, and parameters that are not those of the config's
/// model; StorageError if all checkpoints are damaged.
LoadedModel load_model(const std::filesystem::path& dir, Weights weights = Weights::kTrained,
                       const Report& report = report_to_stderr);

/// In the document of a config: names files of tokenizers that lie in `dir` from there, so that
/// they are found from other folders. So it does with a file that is not where the config says, if
/// `dir` has one of that name.
void find_tokenizer_files(nlohmann::ordered_json& document, const std::filesystem::path& dir);
/// The config of a folder: that of its checkpoint or, in an import, config.yaml. A tokenizer's file
/// that lies in the folder is named from there, so that the folder can be moved.
struct ModelConfig {
  nlohmann::ordered_json document;  // a mapping
  std::string source;               // the file, for messages
};
/// Where a folder keeps its checkpoints.
std::filesystem::path checkpoints_of(const std::filesystem::path& dir);
/// What stands before the names of parameters in checkpoints: "model", "learner/ema/model".
std::string_view stored_prefix(Weights weights);

struct ModelParameters {
  Tree<HostTensor> by_path;  // "model/...", "state/..."
  int64_t step = 0;
};
/// Every parameter of the model by its path, and what its layers keep in training, below "state/".
Tree<ParamSpec> stored_specs(const Model& model);
/// What is wanted of a checkpoint with this config.
using SpecsOfConfig = std::function<Tree<ParamSpec>(const ModelConfig& config)>;
/// Those that `specs_of` names, of the newest good checkpoint; it is asked again, with the config
/// of an older one, where one turns out to be damaged. Throws as load_model does, ConfigError
/// naming all that are missing, of another type or not named, before any is read, and Error
/// with kValidationFailed naming a tensor that holds a NaN or an infinity.
ModelParameters load_parameters(const std::filesystem::path& dir, const SpecsOfConfig& specs_of,
                                Weights weights = Weights::kTrained,
                                const Report& report = report_to_stderr);
/// What a new run of `model` begins with: its parameters, and what its layers keep where the
/// checkpoint holds any of that. Throws as load_parameters does.
ModelParameters load_to_begin_with(const std::filesystem::path& dir, const Model& model,
                                   const Report& report = report_to_stderr);

struct ModelToSave {
  Child<Model> model;
  Child<Tokenizer> tokenizer;
  /// Below the model's own path: "decoder/emb/weight".
  Tree<HostTensor> parameters;
  int64_t context_len;
  /// Further files of the folder, by name: what the tokenizer reads.
  std::map<std::string, std::string> files = {};
};
/// Throws ConfigError unless save_model could make `dir` with such further `files`: it is new or
/// empty, or holds nothing but what a process left there that was killed while it saved.
void check_new_model(const std::filesystem::path& dir, const std::vector<std::string>& files);
/// Makes a folder that load_model takes, with a checkpoint of step 0. Throws as check_new_model
/// does, and StorageError; then nothing is left of it.
void save_model(const std::filesystem::path& dir, ModelToSave saved);

}  // namespace axle
