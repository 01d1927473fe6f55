// Mamba-2: a recurrence in place of attention, without feed-forward networks.
//
// Source: Dao & Gu 2024, arXiv 2405.21060, section 7.
#include <fmt/format.h>

#include "interop/families/llama_like.h"
#include "interop/families/written_fields.h"
#include "layers/blocks/norm_placements.h"
#include "layers/blocks/stack.h"
#include "layers/models/causal_lm.h"
#include "layers/norms/batch_norms.h"
#include "layers/norms/norm.h"
#include "layers/state_space/mamba.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

float eps_of(const ForeignConfig& config) {
  return static_cast<float>(config.number("layer_norm_epsilon", 1e-5));
}

// The result of each group of heads is normalised alone.
Child<Norm> gated_norm(const ForeignConfig& config, int64_t num_groups) {
  if (num_groups == 1) return RMSNorm::Config{.eps = eps_of(config)};
  return GroupNorm::Config{.num_groups = num_groups,
                           .eps = eps_of(config),
                           .moments = GroupMoments::kRMSNorm,
                           .axes = std::vector<int64_t>()};
}

Mamba2::Config mixer_of(const ForeignConfig& config) {
  const Linear::Config linear{.bias = config.flag("use_bias", false)};
  Mamba2::Config out{.expand = config.size("expand", 2),
                     .head_dim = config.size("head_dim", 64),
                     .state_dim = config.size("state_size", 128),
                     .num_groups = config.size("n_groups", 8),
                     .chunk_size = config.size("chunk_size", 256),
                     .gate = linear,
                     .input = linear,
                     .step = linear,
                     .conv = ShortConv::Config{.width = config.size("conv_kernel", 4),
                                               .bias = config.flag("use_conv_bias", true)},
                     .output = linear};
  out.norm = gated_norm(config, out.num_groups);
  const int64_t inner_dim = out.expand * config.size("hidden_size");
  if (config.size("num_heads", 128) * out.head_dim != inner_dim) {
    config.fail("num_heads", fmt::format("{} heads of {} elements, expand * hidden_size in all",
                                         inner_dim / out.head_dim, int64_t{out.head_dim}));
  }
  return out;
}

Child<Model> mamba2(const ForeignConfig& config) {
  ignore_common(config);
  // Initialisers, the name of what the layers do, and residual_in_fp32: sums of residuals in f32,
  // where blocks here keep the dtype of the model (docs/import.md). Version 4 of transformers
  // wrote norm_before_gate, true by default, and its layers never read it: they gate first.
  config.ignore({"time_step_rank", "time_step_min", "time_step_max", "time_step_floor",
                 "time_step_scale", "time_step_init_scheme", "norm_before_gate",
                 "rescale_prenorm_residual", "residual_in_fp32", "layer_types"});
  config.expect("hidden_act", "silu");
  config.expect("time_step_limit", Json::array({0.0, {{"__float__", "Infinity"}}}));
  config.expect("rms_norm", true);
  config.expect("intermediate_size", config.size("expand", 2) * config.size("hidden_size"));
  const RMSNorm::Config norm{.eps = eps_of(config)};
  Decoder::Config decoder{
      .model_dim = config.size("hidden_size"),
      .vocab_size = config.size("vocab_size"),
      .layers = Repeat::Config{.num_layers = config.count("num_hidden_layers"),
                               .layer = PreNorm::Config{.norm = norm, .body = mixer_of(config)}},
      .output_norm = norm};
  if (!config.flag("tie_word_embeddings", false)) decoder.lm_head = LmHead::Config{};
  return CausalLM::Config{.decoder = std::move(decoder)};
}

std::vector<WeightRow> mamba2_weights(const ForeignConfig&) {
  std::vector<WeightRow> out = {
      {.ours = "decoder/emb/weight", .theirs = "backbone.embeddings.weight"},
      {.ours = "decoder/output_norm/scale", .theirs = "backbone.norm_f.weight"},
      {.ours = "decoder/lm_head/weight", .theirs = "lm_head.weight"}};
  const WeightRows block(out, "decoder/layers/layer/", "backbone.layers.{layer}.");
  block.norm("norm", "norm");
  const WeightRows mixer(out, "decoder/layers/layer/body/", "backbone.layers.{layer}.mixer.");
  for (const char* name : {"gate", "input", "step"})
    mixer.linear(name, "in_proj", Storage::kTransposed);
  mixer.add("conv/weight", "conv1d.weight", Storage::kFilters);
  mixer.add("conv/bias", "conv1d.bias", Storage::kVector);
  mixer.add("decay", "A_log", Storage::kVector);
  mixer.add("skip", "D", Storage::kVector);
  mixer.add("step_bias", "dt_bias", Storage::kVector);
  mixer.norm("norm", "norm");
  mixer.linear("output", "out_proj", Storage::kTransposed);
  return out;
}

bool has_bias(const Child<Projection>& projection) {
  const auto* const linear = projection.get_if<Linear>();
  return linear && linear->bias;
}

Json mamba2_config(const PlainModel& model) {
  const auto* const block = model.layers.front().get_if<PreNorm>();
  const auto* const found = block ? block->body.get_if<Mamba2>() : nullptr;
  const Mamba2::Config mixer = found ? *found : Mamba2::Config{};
  const auto* const conv = mixer.conv.get_if<ShortConv>();
  const ShortConv::Config filters = conv ? *conv : ShortConv::Config{};
  const int64_t model_dim = model.decoder.model_dim;
  return {{"vocab_size", int64_t{*model.decoder.vocab_size}},
          {"hidden_size", model_dim},
          {"num_hidden_layers", model.layers.size()},
          {"expand", int64_t{mixer.expand}},
          {"num_heads", mixer.expand * model_dim / mixer.head_dim},
          {"head_dim", int64_t{mixer.head_dim}},
          {"state_size", int64_t{mixer.state_dim}},
          {"n_groups", int64_t{mixer.num_groups}},
          {"chunk_size", int64_t{mixer.chunk_size}},
          {"conv_kernel", int64_t{filters.width}},
          {"use_conv_bias", filters.bias},
          {"use_bias", has_bias(mixer.output)},
          {"hidden_act", "silu"},
          {"layer_norm_epsilon", epsilon_of(model.decoder.output_norm)},
          {"tie_word_embeddings", !model.decoder.lm_head}};
}

const FamilyRow mamba2_row({.model_type = "mamba2",
                            .model = mamba2,
                            .weights = mamba2_weights,
                            .architecture = "Mamba2ForCausalLM",
                            .fields = mamba2_config});

}  // namespace
}  // namespace axle
