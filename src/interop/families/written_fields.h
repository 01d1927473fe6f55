// Fields of a config.json, read off a model: what llama_like.h reads, the other way.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "interop/foreign/weight_map.h"
#include "interop/forms/plain_model.h"
#include "layers/attention/attention.h"
#include "layers/attention/qkv/rope.h"
#include "layers/experts/linear_routers.h"
#include "layers/experts/moe.h"
#include "layers/feed_forward/feed_forward.h"
#include "layers/mixer.h"

namespace axle {

/// The kind of each layer of a model: 0, 1, ...
///
/// Layers of one kind are a loop. A pattern that comes at least twice is a loop over its copies
/// (Pattern). Otherwise the layers of a kind in a row are a loop each, one after the other.
class LayerKinds {
 public:
  /// At least one layer.
  explicit LayerKinds(std::vector<size_t> kinds);
  /// The same number of layers, all of one kind.
  static LayerKinds all_alike(int64_t num_layers) {
    return LayerKinds(std::vector<size_t>(static_cast<size_t>(num_layers), 0));
  }
  bool has(size_t kind) const { return std::ranges::count(kinds_, kind) > 0; }
  /// Returns the stack of layers[kind], one for each layer.
  Child<Block> stack(const std::vector<Child<Block>>& layers) const;
  /// Returns the rows of a model of these layers. rows[kind] is for a model whose layers are
  /// all of the kind, below "decoder/layers/layer/"; what is not of layers comes from the first.
  std::vector<WeightRow> rows(const std::vector<std::vector<WeightRow>>& rows) const;

 private:
  /// Layers of one kind whose parameters are stacked; or one layer alone.
  struct LayerGroup {
    std::string ours;  // "decoder/layers/layer/"
    size_t kind = 0;
    int64_t first_layer = 0, stride = 1;
    bool is_stacked = true;
  };
  std::vector<LayerGroup> groups() const;
  bool repeats_pattern() const { return runs_.size() > 1 && 2 * period_ <= kinds_.size(); }

  std::vector<size_t> kinds_;
  size_t period_ = 1;  // the layers after which the kinds repeat
  struct Run {
    size_t first = 0, count = 0;
  };
  std::vector<Run> runs_;  // layers of a kind in a row
};

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
