// Makes the config of a training run from the numbers in a paper's table of a language
// model.
#pragma once

#include "data/tokenizers/tokenizer.h"
#include "layers/models/decoder.h"
#include "layers/norms/norm.h"
#include "modifiers/field_modifiers.h"
#include "modifiers/modifier.h"
#include "train/config/trainer_config.h"

namespace axle {

inline constexpr int64_t kKi = 1 << 10;
inline constexpr int64_t kMi = 1 << 20;

/// Weights ~ N(0, 1 / fan_in), an embedding ~ N(0, 1 / fan_out), and RMSNorm with eps = 1e-5.
Init fan_in_init();
Init fan_out_init();
Child<Norm> llama_norm();

/// The numbers of the table.
struct LanguageModel {
  /// `output_norm` and the initial values of `emb` are those below.
  Decoder::Config decoder = {};
  Child<Norm> output_norm = llama_norm();
  /// Initial values of all weights, and of the embedding.
  Init init = fan_in_init();
  Init emb_init = fan_out_init();
  double z_loss_scale = 0;
  struct {
    double peak_lr = 3e-4;
    int64_t warmup_steps = 2000;
    int64_t max_step = 0;
    /// The learning rate at max_step, as a fraction of peak_lr.
    double final_fraction = 0.1;
    double weight_decay = 0.1;
    /// Names of parameters that do not decay.
    std::vector<std::string> undecayed = {};
    /// Patterns of Learner::Config.
    std::vector<std::string> frozen = {}, trained = {};
    /// Replaces AdamW, whose numbers the fields above are.
    Child<Optimizer> optimizer = {};
    /// Largest norm of all gradients; none: they are not clipped.
    std::optional<double> clip_global_norm = 1;
  } learner = {};
  int64_t tokens_per_batch = 4 * kMi;
  int64_t seq_len = 4096;
  /// Tokenizer of training and evaluation; none: every run on text must set it.
  Child<Tokenizer> tokenizer = {};
  int64_t save_every_steps = 5000, keep_every_steps = 50000, eval_every_steps = 5000;
  Mesh mesh = {};
  MeshRules mesh_rules = {};
};

/// The names of scales of norms and of biases. Weights decay towards 0, for which these have no
/// reason.
inline const std::vector<std::string> kScalesAndBiases = {"scale", "bias"};

/// Returns a config with bf16 products over f32 parameters. AdamW has a cosine schedule with
/// warm-up. The text comes from `--data`. Where one GPU cannot compute a batch at once,
/// gpu_host_rule() comes after the rules of `m`.
Trainer::Config language_model(const LanguageModel& m);

/// One block of the Llama family: pre-norm attention with rotary positions, pre-norm gated
/// feed-forward.
struct LlamaLayer {
  int64_t num_heads;
  int64_t num_kv_heads;
  double rope_theta;
  DimFn hidden_dim;
  /// Replaces the gated feed-forward.
  Child<Mixer> feed_forward = {};
};
TransformerLayer::Config llama_layer(const LlamaLayer& l);

/// A small model over bytes, which learns to write text in a minute or two on two cores.
struct ByteModel {
  int64_t model_dim;
  Child<Block> layers;
  int64_t num_steps = 300, warmup_steps = 30, seq_len = 128, save_every_steps = 100;
  std::vector<std::string> undecayed = {};
  Child<TokenEmbedding> emb = Embedding::Config{};
  Child<Norm> output_norm = llama_norm();
};
/// Returns language_model() of these numbers, with 16 rows a batch and all products in f32.
Trainer::Config byte_model(ByteModel m);

/// A mesh of one axis for all devices.
Mesh one_axis(std::string name);

/// A mesh of all known axes. Recipes of AXLearn have such meshes.
struct AllAxes {
  int64_t pipeline = 1, data = 1, expert = 1, fsdp = 1, seq = 1, model = 1;
};
Mesh all_axes(const AllAxes& sizes);

/// A rule that sets such a mesh for machines.
MeshRule mesh_rule(std::string machine, const AllAxes& sizes);

/// Tokens that a GPU of 80 GB computes at once: the rule for one host splits a batch into parts.
inline constexpr int64_t kTokensOfGpu = 8192;
/// Returns the rows that such a GPU computes at once.
int64_t rows_of_gpu(int64_t seq_len);
/// Sets the rows that each device computes at once.
SetFields::Config device_rows(int64_t rows);
/// The rule for the GPUs of one host: the batch stays the same, but is computed in parts, and all
/// devices share parameters and state. What then fits is trained as on a cluster.
MeshRule gpu_host_rule(int64_t seq_len);

/// The rule for runs on CPUs: all devices share the batch.
MeshRule cpu_rule();

}  // namespace axle
