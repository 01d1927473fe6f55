// The families of Gemma.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "interop/families/family.h"
#include "layers/attention/qkv/rope.h"

namespace axle {

// What the models of Gemma 2 and 3 have in common: norms on both sides of each mixer, and layers
// whose queries see a window among those that see everything.

/// The types of layers: those whose queries see a window, and those that see everything.
inline constexpr std::string_view kLocal = "sliding_attention", kGlobal = "full_attention";

/// In which they differ.
struct GemmaVariant {
  /// The distance of the layers that see everything, unless `layer_types` says which ones do.
  int64_t period;
  /// Norms of queries and keys.
  bool has_head_norms;
  /// Caps of the logits of attention and of the head; none: no cap.
  std::optional<double> attention_cap, logit_cap;
  /// The rotations of both types of layers, without their inner projections.
  RoPE::Config local_rope, global_rope;
};

/// Returns the model that the config describes; reads the fields that all of them have.
Child<Model> gemma_like(const ForeignConfig& config, const GemmaVariant& variant);
/// Rows of the parameters of all of them. The period is that of the variant.
std::vector<WeightRow> gemma_weights(const ForeignConfig& config, int64_t period);
/// The fields that all of them have; the rotation is that of the first layer.
nlohmann::ordered_json gemma_fields(const PlainModel& model);

}  // namespace axle
