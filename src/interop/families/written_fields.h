// Fields of a config.json, read off a model: what llama_like.h reads, the other way.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "interop/forms/plain_model.h"
#include "layers/attention/attention.h"
#include "layers/attention/qkv/rope.h"
#include "layers/experts/moe.h"
#include "layers/experts/top_k_router.h"
#include "layers/feed_forward/feed_forward.h"

namespace axle {

/// The parts of a transformer layer that families have fields for. Those that the layer lacks have
/// their defaults: whoever builds a model of the fields finds the difference.
struct LayerParts {
  Child<Norm> norm;
  Attention::Config attention{.num_heads = 1};
  RoPE::Config rope;
  bool has_head_norms = false, qkv_bias = false, output_bias = false, feed_forward_bias = false;
  /// The positions that a query sees, its own included; none: all before it.
  std::optional<int64_t> window;
  /// The network is a mixture of experts.
  bool has_experts = false;
  FeedForward::Config feed_forward;
  MoE::Config experts{.num_experts = 1};
  TopKRouter::Config router;
};
LayerParts parts_of(const Child<Block>& layer);

/// The fields that the families like Llama have in common, without biases, windows and experts.
nlohmann::ordered_json llama_fields(const PlainModel& model);
/// Adds the fields of experts, but for their number and size.
void write_experts(nlohmann::ordered_json& fields, const LayerParts& parts);
/// Adds `rope_theta` and `rope_scaling`, which all versions of the reader know.
void write_rope(nlohmann::ordered_json& fields, const RoPE::Config& rope);
/// The name of an activation there.
std::string activation_name(const Activation& activation);
/// The epsilon of a norm, without the digits that its float does not have; 0 for norms of another
/// kind.
double epsilon_of(const Child<Norm>& norm);
/// The width of a hidden layer.
int64_t width_in(const DimFn& width);
/// A number, or null.
template <class T>
nlohmann::ordered_json or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace axle
