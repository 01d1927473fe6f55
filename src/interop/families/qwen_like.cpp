#include "interop/families/qwen_like.h"

#include <algorithm>

namespace axle {

void check_full_attention(const ForeignConfig& config) {
  config.expect("use_sliding_window", false);
  config.ignore({"sliding_window", "max_window_layers"});
  const auto is_full = [](const std::string& type) { return type == "full_attention"; };
  if (!std::ranges::all_of(config.texts("layer_types"), is_full))
    config.fail("layer_types", "full_attention for all layers");
}

nlohmann::ordered_json qwen_fields(const PlainModel& model) {
  nlohmann::ordered_json out = llama_fields(model);
  out["use_sliding_window"] = false;
  out["sliding_window"] = nullptr;
  out["max_window_layers"] = model.layers.size();
  return out;
}

}  // namespace axle
