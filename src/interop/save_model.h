// Writes folders that hold a model (model_folder.h).
#pragma once

#include <concepts>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/batch.h"
#include "data/input.h"
#include "data/tokenizers/tokenizer.h"
#include "ir/host_tensor.h"
#include "layers/models/model.h"

namespace axle {

/// The contents of a model folder to create.
struct ModelToSave {
  Child<Model> model;
  /// Empty: the model was trained on synthetic data.
  Child<Tokenizer> tokenizer;
  /// By path, without the leading "model/": "decoder/emb/weight".
  Tree<HostTensor> parameters;
  /// State of layers, by path, without the leading "state/": "model/decoder/...".
  Tree<HostTensor> layer_state = {};
  int64_t context_len = 1;
  /// The input of the run that the model comes from; empty: one of `tokenizer`, `context_len` and
  /// `streams`.
  Child<Input> input = {};
  /// The step of the run that the model comes from; 0: of no run.
  int64_t step = 0;
  /// Type to compute in; none: the types of the parameters.
  std::optional<FloatDType> compute_dtype = {};
  /// Parameters that are trained beside the adapters, by path: those of modules that peft keeps
  /// whole.
  std::vector<std::string> also_trained = {};
  /// Streams of positions that the model reads (TextInput::Config::position_streams).
  std::vector<PositionStream> streams = {};
  /// Further files of the folder, by name: the files that the tokenizer reads.
  std::map<std::string, std::string> files = {};
  /// Where the tokenizer's file is now, if it is not among `files`.
  std::filesystem::path tokenizer_file = {};
  /// Tensors that another program has and the model has not (ImportedModel), for reports.
  int64_t num_left_out = 0;
  /// How the special ids of its config and of its tokenizer differ; empty: not at all.
  std::string special_ids = {};
  /// What is wrong with its chat template, for reports; empty: nothing.
  std::string chat_template = {};
  /// Weights whose codes were rounded (ImportedModel), for reports.
  int64_t num_rounded = 0;
};
/// Throws ConfigError unless save_model can create `dir` with these further `files`. `dir` must be
/// new or empty, or hold only what a save_model that was killed left there.
void check_new_model(const std::filesystem::path& dir, const std::vector<std::string>& files);
/// Creates a folder that load_model reads, with one checkpoint. Throws as check_new_model does,
/// and StorageError; on failure nothing is left of the folder.
void save_model(const std::filesystem::path& dir, ModelToSave saved);
/// Returns the config of such a folder.
nlohmann::ordered_json config_document(const ModelToSave& saved);

/// The folder of a run or an import, or a model of another program (is_foreign_model). A path
/// becomes one by itself.
struct ModelPath {
  ModelPath() = default;
  template <std::convertible_to<std::filesystem::path> P>
  ModelPath(P&& folder, std::vector<std::string> fields = {})
      : path(std::forward<P>(folder)), ignored(std::move(fields)) {}

  std::filesystem::path path = {};
  /// Fields of the config of another program that are left out. A run has none of these.
  std::vector<std::string> ignored = {};
};

/// What is to be written. A process that is killed may leave a part of it, which the next one
/// replaces.
struct NewFolder {
  std::filesystem::path dir;
  /// The subfolder in which everything is written before it is moved into place: "import.tmp".
  std::string unfinished;
  /// Its lock, which the process holds that writes: "import.lock".
  std::string lock;
  /// The file that is moved last: a folder without it is not complete.
  std::string last;
};
/// The file in the subfolder that lists what is moved to its final path.
inline constexpr std::string_view kNamesInMotion = "names.json";

/// Throws ConfigError unless `dir` is new or empty, or holds only what a killed process left there.
void check_new_folder(const NewFolder& folder);
/// Calls write(), which writes all files below the path that it gets, and moves them into place.
/// Throws as check_new_folder() and write() do, and StorageError; nothing is left on failure.
void write_new_folder(const NewFolder& folder,
                      const std::function<void(const std::filesystem::path& unfinished)>& write);

}  // namespace axle
