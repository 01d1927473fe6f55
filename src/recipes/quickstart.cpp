// A byte-level model that learns to write text in two minutes on two cores.
#include "config/register.h"
#include "data/tokenizers/byte_tokenizer.h"
#include "layers/blocks/stacked.h"
#include "recipes/language_model.h"

namespace axle {
namespace {

Trainer::Config quickstart() {
  constexpr int64_t kSteps = 550, kSeqLen = 256;
  Trainer::Config cfg = language_model({
      .decoder = {.model_dim = 128,
                  .vocab_size = 264,
                  .max_seq_len = kSeqLen,
                  .layers = Stacked::Config{.num_layers = 4,
                                            .layer = llama_layer(
                                                {.num_heads = 4,
                                                 .num_kv_heads = 4,
                                                 .rope_theta = 1e4,
                                                 .hidden_dim = ScaledDim{.scale = 8.0 / 3,
                                                                         .multiple_of = 32}})}},
      .learner = {.peak_lr = 3e-3,
                  .warmup_steps = 50,
                  .max_step = kSteps,
                  .final_fraction = 0,
                  .weight_decay = 0.1},
      .tokens_per_batch = 16 * kSeqLen,
      .seq_len = kSeqLen,
      .tokenizer = ByteTokenizer::Config{},
      .mesh = {.axes = {{.name = "data", .size = -1}}},
  });
  cfg.compute_dtype = {};  // f32: bf16 gains nothing at this size on a CPU
  cfg.checkpointer = {.every_steps = 200};
  cfg.evalers.at("held_out").every_steps = {};
  return cfg;
}
AXLE_REGISTER(quickstart, "quickstart")

}  // namespace
}  // namespace axle
