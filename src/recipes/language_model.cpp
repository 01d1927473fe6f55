#include "recipes/language_model.h"

#include <algorithm>

#include "data/text_input.h"
#include "data/tokenizers/byte_tokenizer.h"
#include "layers/attention/attention.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/attention/qkv/rope.h"
#include "layers/blocks/norm_placements.h"
#include "layers/dense/linear.h"
#include "layers/feed_forward/feed_forward.h"
#include "layers/models/causal_lm.h"
#include "learn/schedules/schedules.h"
#include "learn/transforms/gradient_transforms.h"
#include "modifiers/mesh_modifiers.h"
#include "train/record/summary_writer.h"

namespace axle {

Init fan_in_init() {
  return VarianceScaling{.fan = Fan::kIn, .distribution = Distribution::kNormal};
}
Init fan_out_init() {
  return VarianceScaling{.fan = Fan::kOut, .distribution = Distribution::kNormal};
}
Child<Norm> llama_norm() { return RMSNorm::Config{.eps = 1e-5f}; }

TransformerLayer::Config llama_layer(const LlamaLayer& l) {
  const bool grouped = l.num_kv_heads != l.num_heads;
  const Child<QKV> projections =
      grouped ? Child<QKV>(FusedGroupedQKV::Config{}) : Child<QKV>(FusedQKV::Config{});
  const Child<Mixer> gated =
      FeedForward::Config{.hidden_dim = l.hidden_dim, .gate = Linear::Config{.bias = false}};
  return {
      .attention =
          PreNorm::Config{.norm = llama_norm(),
                          .body = Attention::Config{.num_heads = l.num_heads,
                                                    .num_kv_heads = l.num_kv_heads,
                                                    .qkv = RoPE::Config{.theta = l.rope_theta,
                                                                        .inner = projections}}},
      .feed_forward =
          PreNorm::Config{.norm = llama_norm(), .body = l.feed_forward ? l.feed_forward : gated},
  };
}

Trainer::Config language_model(const LanguageModel& m) {
  MeshRules rules = m.mesh_rules;
  if (m.tokens_per_batch > kTokensOfGpu) rules.push_back(gpu_host_rule(m.seq_len));
  Decoder::Config decoder = m.decoder;
  decoder.emb.options.init = m.emb_init;
  decoder.output_norm = m.output_norm;
  Learner::Config learner{.optimizer = m.learner.optimizer,
                          .frozen = m.learner.frozen,
                          .trained = m.learner.trained,
                          .undecayed = m.learner.undecayed};
  if (!learner.optimizer)
    learner.optimizer =
        AdamW::Config{.learning_rate = CosineWithWarmup{.peak = m.learner.peak_lr,
                                                        .warmup_steps = m.learner.warmup_steps,
                                                        .alpha = m.learner.final_fraction},
                      .weight_decay = m.learner.weight_decay};
  if (m.learner.clip_global_norm)
    learner.transforms = {ClipByGlobalNorm::Config{.max_norm = *m.learner.clip_global_norm}};
  Trainer::Config cfg{
      .model = CausalLM::Config{.decoder = decoder, .z_loss_scale = m.z_loss_scale},
      .input = TextInput::Config{.tokenizer = m.tokenizer,
                                 .seq_len = m.seq_len,
                                 .batch_size = std::max<int64_t>(m.tokens_per_batch / m.seq_len, 1),
                                 .split = Split::kTrain},
      .learner = std::move(learner),
      .checkpointer = {.every_steps = m.save_every_steps, .keep_every_steps = m.keep_every_steps},
      .max_steps = m.learner.max_step,
      .mesh = m.mesh,
      .mesh_rules = std::move(rules),
      .compute_dtype = DType::kBF16,
      .writers = {{"tensorboard", TensorBoardWriter::Config{}}},
  };
  cfg.model.options.init = m.init;
  // The evaler takes text, tokenizer, seq_len and batch_size from the run's input
  // (complete_evaler_inputs).
  cfg.evalers["held_out"] = {
      .input = TextInput::Config{.shuffle = Shuffle::kNone, .epochs = 1, .split = Split::kHeldOut},
      .every_steps = m.eval_every_steps};
  return cfg;
}

Trainer::Config byte_model(ByteModel m) {
  Trainer::Config cfg = language_model({
      .decoder = {.model_dim = m.model_dim,
                  .vocab_size = 264,
                  .max_seq_len = m.seq_len,
                  .emb = std::move(m.emb),
                  .layers = std::move(m.layers)},
      .output_norm = std::move(m.output_norm),
      .learner = {.peak_lr = 3e-3,
                  .warmup_steps = m.warmup_steps,
                  .max_step = m.num_steps,
                  .final_fraction = 0,
                  .weight_decay = 0.1,
                  .undecayed = std::move(m.undecayed)},
      .tokens_per_batch = 16 * m.seq_len,
      .seq_len = m.seq_len,
      .tokenizer = ByteTokenizer::Config{},
      .mesh = one_axis("data"),
  });
  cfg.compute_dtype = {};  // f32: bf16 gains nothing at this size on a CPU
  cfg.checkpointer = {.every_steps = m.save_every_steps};
  cfg.evalers.at("held_out").every_steps = {};
  return cfg;
}

Mesh one_axis(std::string name) { return {.axes = {{.name = std::move(name), .size = -1}}}; }

Mesh all_axes(const AllAxes& sizes) {
  return {.axes = {{.name = "pipeline", .size = sizes.pipeline},
                   {.name = "data", .size = sizes.data},
                   {.name = "expert", .size = sizes.expert},
                   {.name = "fsdp", .size = sizes.fsdp},
                   {.name = "seq", .size = sizes.seq},
                   {.name = "model", .size = sizes.model}}};
}

MeshRule mesh_rule(std::string machine, const AllAxes& sizes) {
  return {.machine = std::move(machine), .modifiers = {SetMesh::Config{.mesh = all_axes(sizes)}}};
}

int64_t rows_of_gpu(int64_t seq_len) { return std::max<int64_t>(kTokensOfGpu / seq_len, 1); }

SetFields::Config device_rows(int64_t rows) {
  return {.set = {{"learner.device_rows", std::to_string(rows)}}};
}

MeshRule gpu_host_rule(int64_t seq_len) {
  return {
      .machine = "gpu-[A-Z0-9]+-[1248]",
      .modifiers = {SetMesh::Config{.mesh = one_axis("fsdp")}, device_rows(rows_of_gpu(seq_len))}};
}

MeshRule cpu_rule() {
  return {.machine = "cpu-.*", .modifiers = {SetMesh::Config{.mesh = one_axis("data")}}};
}

}  // namespace axle
