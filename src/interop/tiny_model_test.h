// Small language models for the tests of infer/.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/tree.h"
#include "data/tokenizers/byte_tokenizer.h"
#include "interop/model_folder.h"
#include "interop/save_model.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/attention/qkv/rope.h"
#include "layers/blocks/stack.h"
#include "layers/models/causal_lm.h"
#include "testing/layer_call.h"

namespace axle {

struct TinyModel {
  Child<Model> config;
  std::unique_ptr<Model> model;
  Tree<HostTensor> parameters = {};

  explicit TinyModel(Child<Model> c)
      : config(std::move(c)), model(config.build({}, Scope{.path = "model"})) {}
};

inline TransformerLayer::Config tiny_layer() {
  const Linear::Config linear{.bias = false};
  const Attention::Config attention{.num_heads = 4,
                                    .num_kv_heads = 2,
                                    .head_dim = 4,
                                    .qkv = RoPE::Config{.inner = FusedGroupedQKV::Config{}}};
  return {.attention = PreNorm::Config{.body = attention},
          .feed_forward = PreNorm::Config{.body = FeedForward::Config{.gate = linear}}};
}

/// A model of two layers of width 16 over 31 tokens, with random weights. Its next token depends on
/// everything that it has read.
inline TinyModel random_model(Child<Block> layers) {
  TinyModel out(CausalLM::Config{.decoder = Decoder::Config{.model_dim = 16,
                                                            .vocab_size = 31,
                                                            .layers = std::move(layers),
                                                            .lm_head = LmHead::Config{}}});
  out.parameters = testing::initial_parameters(*out.model, 7);
  // Larger weights than a fresh model's, so that logits are far from equal.
  for (auto& [path, value] : out.parameters) {
    if (!path.ends_with("weight")) continue;
    for (float& v : value.values<float>()) v *= 3;
  }
  return out;
}

/// A model that predicts token `b` after token `a` for each pair, and token 0 after any other
/// token. The layers pass the embedded tokens unchanged.
inline TinyModel chain_model(const std::vector<std::pair<int32_t, int32_t>>& successors,
                             int64_t vocab_size, std::optional<int64_t> max_seq_len = {}) {
  TinyModel out(CausalLM::Config{
      .decoder = Decoder::Config{.model_dim = vocab_size,
                                 .vocab_size = vocab_size,
                                 .max_seq_len = max_seq_len,
                                 .layers = Stacked::Config{.num_layers = 1, .layer = tiny_layer()},
                                 .lm_head = LmHead::Config{}}});
  for (const auto& [path, spec] : out.model->param_specs()) {
    out.parameters.emplace(path, HostTensor::full(spec.shape, path.ends_with("scale") ? 1 : 0));
  }
  const auto at = [&](const std::string& path, int64_t row, int64_t column) -> float& {
    return out.parameters.at(path).values<float>()[row * vocab_size + column];
  };
  for (int64_t i = 0; i < vocab_size; ++i) at("model/decoder/emb/weight", i, i) = 1;
  for (const auto& [from, to] : successors) at("model/decoder/lm_head/weight", to, from) = 1;
  return out;
}

/// Saves the model with a tokenizer of bytes, a context of 20 tokens and the first state of its
/// layers.
inline void save_byte_model(const std::filesystem::path& dir, const TinyModel& tiny) {
  Tree<HostTensor> state;
  testing::add_initial_state(*tiny.model, state);
  save_model(dir, {.model = tiny.config,
                   .tokenizer = ByteTokenizer::Config{},
                   .parameters = subtree(tiny.parameters, "model"),
                   .layer_state = std::move(state),
                   .context_len = 20});
}

/// Saves a model of bytes that generates "bé" after 'a' and then ends.
inline void save_short_talker(const std::filesystem::path& dir) {
  save_byte_model(
      dir,
      chain_model({{'a', 'b'}, {'b', 0xc3}, {0xc3, 0xa9}, {0xa9, ByteTokenizer::kBoundary}}, 260));
}

}  // namespace axle
