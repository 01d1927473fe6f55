// Makes the config of a training run from the numbers that a paper's table gives of a language
// model.
#pragma once

#include "data/tokenizers/tokenizer.h"
#include "train/trainer.h"

namespace axle {

inline constexpr int64_t kKi = 1 << 10;
inline constexpr int64_t kMi = 1 << 20;

/// The numbers of the table.
struct LanguageModel {
  Decoder::Config decoder = {};
  struct {
    double peak_lr = 3e-4;
    int64_t warmup_steps = 2000;
    int64_t max_step = 0;
    /// The learning rate at max_step, as a fraction of peak_lr.
    double final_fraction = 0.1;
    double weight_decay = 0.1;
    double clip_global_norm = 1;
  } learner = {};
  int64_t tokens_per_batch = 4 * kMi;
  int64_t seq_len = 4096;
  /// Tokenizer of training and evaluation; none: every run on text must set it.
  Child<Tokenizer> tokenizer = {};
  int64_t save_every_steps = 5000, keep_every_steps = 50000, eval_every_steps = 5000;
  Mesh mesh = {};
  MeshRules mesh_rules = {};
};

/// Returns a config with AdamW under a cosine schedule with warm-up, clipping, weights ~ N(0, 1 /
/// fan_in), the embedding ~ N(0, 1 / fan_out), and bf16 products over f32 parameters. The text
/// comes from `--data`.
Trainer::Config language_model(const LanguageModel& m);

/// One block of the Llama family: pre-norm attention with rotary positions, pre-norm gated
/// feed-forward.
struct LlamaLayer {
  int64_t num_heads;
  int64_t num_kv_heads;
  double rope_theta;
  DimFn hidden_dim;
};
TransformerLayer::Config llama_layer(const LlamaLayer& l);

}  // namespace axle
