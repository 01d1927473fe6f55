// The families of Qwen.
#pragma once

#include <optional>
#include <vector>

#include "interop/families/llama_like.h"
#include "interop/families/written_fields.h"

namespace axle {

/// Returns the window of all layers that have one; none: none has.
std::optional<int64_t> window_in(const ForeignConfig& config);
/// Returns the model of layers of this variant, of which those have a window that `layer_types` or
/// `max_window_layers` says.
Child<Model> qwen_like(const ForeignConfig& config, const LlamaVariant& variant);
/// The rows of the parameters of such a model.
std::vector<WeightRow> qwen_weights(const ForeignConfig& config);
/// Returns the fields of Llama, and the fields of windows.
nlohmann::ordered_json qwen_fields(const PlainModel& model);

}  // namespace axle
