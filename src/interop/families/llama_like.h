// Families whose blocks are the same as Llama's.
#pragma once

#include <optional>

#include "interop/families/family.h"
#include "interop/families/written_fields.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/attention/qkv/rope.h"
#include "layers/feed_forward/feed_forward.h"
#include "layers/mixer.h"
#include "layers/norms/norm.h"

namespace axle {

// What the models have in common that are built like Llama: pre-norm attention with rotary
// positions, pre-norm gated feed-forward, RMS norms.

/// What stands for fields that a config lacks: what transformers takes for them.
struct LlamaDefaults {
  double rms_norm_eps = 1e-6, rope_theta = 1e4;
  /// None: as many as heads.
  std::optional<int64_t> num_kv_heads = {};
  /// None: the share of a head in the model dim.
  std::optional<int64_t> head_dim = {};
};

/// In which they differ.
struct LlamaVariant {
  LlamaDefaults defaults = {};
  /// Biases of the projections of queries, keys and values; of the one behind attention; of those
  /// of the feed-forward network.
  bool qkv_bias = false, output_bias = false, feed_forward_bias = false;
  /// Norms of queries and keys, and whether each has a vector for a head or for all of them.
  std::optional<Child<Norm>> head_norm = {};
  NormOver head_norm_over = NormOver::kHead;
  /// True: the norms of a layer come behind attention and feed-forward network, and not before.
  bool norms_results = false;
  /// The positions that a query sees, its own included; none: all before it.
  std::optional<int64_t> window = {};
  /// Replaces the gated feed-forward network.
  Child<Mixer> feed_forward = {};
};

/// Returns the model that the config describes; reads the fields that all of them have.
Child<Model> llama_like(const ForeignConfig& config, const LlamaVariant& variant);
/// As above, for layers that differ: layers of a kind use variants[kind]. The defaults are alike.
Child<Model> llama_like(const ForeignConfig& config, const LayerKinds& kinds,
                        const std::vector<LlamaVariant>& variants);
/// Rows of the parameters of all of them, also of biases and norms of heads.
std::vector<WeightRow> llama_weights(const ForeignConfig& config);

/// Reads the fields that do not change what a model computes.
void ignore_common(const ForeignConfig& config);
/// Returns the rotation of queries and keys, without its inner projections: `rope_theta` with
/// `rope_scaling`, or `rope_parameters`, which may have fields for each type of layer.
RoPE::Config rope_of(const ForeignConfig& config, std::string_view layer_type = {},
                     double default_theta = LlamaDefaults().rope_theta);
/// Returns the factor of rotated elements that YaRN has for texts `factor` times longer.
double yarn_scale(double factor, double mscale);
/// Returns the norm with the config's epsilon.
Child<Norm> rms_norm_of(const ForeignConfig& config,
                        double default_eps = LlamaDefaults().rms_norm_eps);
/// Returns the activation of the field, or the one called `fallback`.
Activation activation_of(const ForeignConfig& config, std::string_view key,
                         std::string_view fallback = "silu");

}  // namespace axle
