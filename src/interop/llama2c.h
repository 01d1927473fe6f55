// Weights of llama2.c (Karpathy), in its first format: what its trainer exports as "version 0".
//
// Layout, little-endian: i32 model dim, hidden dim, layers, query heads, key/value heads,
// vocabulary (negative: the classifier is not the embedding), longest text; then f32 weights, each
// of all layers together: embedding, attention norms, q, k, v, o, feed-forward norms, w1 (gate), w2
// (down), w3 (up), last norm, cosines and sines of positions, and the classifier where it is one of
// its own. Matrices are stored as [outputs, inputs].
#pragma once

#include <filesystem>

#include "base/tree.h"
#include "ir/host_tensor.h"
#include "layers/models/causal_lm.h"

namespace axle {

/// A model as other programs store it, in terms of ours.
struct ImportedModel {
  CausalLM::Config config;
  /// By path, below the model's own: "decoder/emb/weight".
  Tree<HostTensor> parameters;
  int64_t vocab_size = 0;
  /// The longest text.
  int64_t max_seq_len = 0;
};

/// Throws DataError naming file and offset if the file is missing, cut off, too long or has a
/// header that can't be.
ImportedModel read_llama2c(const std::filesystem::path& path);

}  // namespace axle
