// A model of another program, as a config and parameters of Axle.
#pragma once

#include <filesystem>

#include "base/tree.h"
#include "ir/host_tensor.h"
#include "layers/models/model.h"

namespace axle {

struct ImportedModel {
  Child<Model> model;
  /// By path, without the leading "model/": "decoder/emb/weight".
  Tree<HostTensor> parameters;
  int64_t vocab_size = 0;
  /// The longest sequence.
  int64_t max_seq_len = 0;
  /// The file of its tokenizer; empty: there is none beside the weights.
  std::filesystem::path tokenizer = {};
};

}  // namespace axle
