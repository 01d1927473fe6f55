// A model of another program, as a config and parameters of Axle.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/tree.h"
#include "interop/foreign/weight_map.h"
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

/// Tensors that take the place of a model's own, by the names that Hugging Face has for them.
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
  /// Weights whose codes (ReadOptions::codes_of) stand for other numbers than those of the files.
  int64_t num_rounded = 0;
  NamedSpecialIds special = {};
  /// Of its own vocabulary, if the files say it: there may be more rows.
  std::optional<int64_t> num_tokens = {};
  /// The file of its tokenizer; empty: there is none beside the weights.
  std::filesystem::path tokenizer = {};
};

}  // namespace axle
