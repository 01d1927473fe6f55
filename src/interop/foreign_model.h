// Models of other programs, in any format.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/tree.h"
#include "data/tokenizers/tokenizer.h"
#include "interop/foreign/weight_map.h"
#include "interop/save_model.h"
#include "ir/code_scheme.h"
#include "ir/dtype.h"
#include "ir/host_tensor.h"
#include "layers/models/model.h"

namespace axle {

/// The dtypes of parameters that are read.
struct ParameterDTypes {
  /// Of all; none: that of the files, f32 if they have several or f16.
  std::optional<DType> all = {};
  /// Of single ones, by path: "decoder/emb/weight".
  Tree<DType> by_path = {};
};

/// Tensors that replace a model's own, by the names that Hugging Face has for them.
struct ReplacingTensors {
  const TensorSource* tensors = nullptr;
  /// A head that the model ties to its embedding stays tied.
  bool ties_head = false;
};

/// How to read a model of another program.
struct ReadOptions {
  /// Fields of the config that are left out.
  std::vector<std::string> ignored = {};
  /// False: there are no parameters.
  bool with_weights = true;
  /// Each tensor is brought into its dtype as it is read.
  ParameterDTypes dtypes = {};
  /// A model at "model" whose products hold weights as codes (QuantizedProduct): those are read as
  /// codes. nullptr: none are.
  const Layer* codes_of = nullptr;
  /// Of a model with adapters, modules that are kept whole. Where its dtype can't hold them, they
  /// become f32, unless `dtypes` names another one.
  ReplacingTensors replaced = {};
};

/// The special ids that a config names: those that end a text may be several.
struct NamedSpecialIds {
  std::string where = {};  // the file
  std::vector<int64_t> bos = {}, eos = {}, pad = {};
};

struct ImportedModel {
  Child<Model> model;
  /// By path, without the leading "model/": "decoder/emb/weight".
  Tree<HostTensor> parameters;
  /// State of layers, by path: "model/decoder/layers/...".
  Tree<HostTensor> layer_state = {};
  int64_t vocab_size = 0;
  /// The longest sequence.
  int64_t max_seq_len = 0;
  /// The tensors of Hugging Face that hold its parameters; empty: no family describes the model.
  std::vector<WeightRow> rows = {};
  /// The parameters that ReadOptions::replaced holds, or a part of one, by path.
  std::vector<std::string> replaced = {};
  /// Type to compute in; none: the types of the parameters.
  std::optional<FloatDType> compute_dtype = {};
  /// Tensors of parts that the model has not, such as heads for further tokens.
  int64_t num_left_out = 0;
  /// The schemes of weights that ReadOptions::codes_of keeps as codes and the files store so, by
  /// their paths ("model/..."), also without weights.
  Tree<CodeScheme> schemes = {};
  /// Weights whose codes (ReadOptions::codes_of) represent other numbers than the files hold.
  int64_t num_rounded = 0;
  NamedSpecialIds special = {};
  /// Of its own vocabulary, if the files say it: there may be more rows.
  std::optional<int64_t> num_tokens = {};
  /// The file of its tokenizer; empty: there is none beside the weights.
  std::filesystem::path tokenizer = {};
};

/// ReadOptions, and the tokenizer of the model.
struct ForeignOptions {
  /// The tokenizer file, of any kind that tokenizer_in_file() recognises. Empty: the one beside the
  /// weights; if there is none, the model has no tokenizer. One that is named has to belong to the
  /// model, unless ReadOptions::ignored names "tokenizer".
  std::filesystem::path tokenizer = {};
  ReadOptions read = {};
};

/// True for a path that holds a model of another program and says so: a folder of Hugging Face, a
/// folder of adapters, or a GGUF file. It can be read in place. False for the folder of a run or an
/// import.
bool is_foreign_model(const std::filesystem::path& path);
/// True for a model of another program and for the folder of a run or an import.
bool holds_model(const std::filesystem::path& path);
/// Throws ConfigError, which names the model, for a folder around one, and for one of a hub's
/// cache.
void check_no_model_inside(const std::filesystem::path& folder);
/// Throws ConfigError for a path that holds no model, with what to name instead.
[[noreturn]] void fail_no_model(const std::filesystem::path& path);
/// Returns the text of a config.json that names the family of the model at `path`: the one that its
/// folder has, also a run or an import (keep_origin); that of the model that adapters belong to; of
/// a GGUF file, `model_type` alone. Empty if nothing names one. Throws DataError for a GGUF file
/// that is malformed.
std::string origin_config(const std::filesystem::path& path);
/// Writes it into the folder of a run that begins with the model at `path`, unless there is none or
/// the folder has one. Calls will_make() with the new file before it is there. Throws as
/// origin_config() does, and StorageError.
void keep_origin(const std::filesystem::path& path, const std::filesystem::path& dir,
                 const std::function<void(const std::filesystem::path&)>& will_make);
/// Reads a folder of Hugging Face (hugging_face.h), adapters with their base (peft_adapters.h), a
/// GGUF file (hugging_face.h), or weights of llama2.c (llama2c.h), which need a tokenizer. The
/// tokenizer's config names its file by its full path. Throws as these do; DataError if the
/// tokenizer does not fit the model.
ModelToSave read_foreign_model(const std::filesystem::path& path,
                               const ForeignOptions& options = {});

/// Returns one line that says which ids differ and which count: "WARNING: config.json: expected the
/// special ids of tokenizer.json, got eos 2 and not 7; ...". Empty if they agree, or if one of both
/// names none.
std::string special_ids_warning(const NamedSpecialIds& config, const SpecialIds& tokenizer,
                                const std::string& tokenizer_file);
/// Throws DataError if a tokenizer that a user names begins or ends documents by other ids, or has
/// less than half of the tokens of the model: it is another model's.
void check_belongs_to_model(const NamedSpecialIds& config, int64_t num_tokens,
                            const Tokenizer& tokenizer, const std::string& tokenizer_file);

}  // namespace axle
