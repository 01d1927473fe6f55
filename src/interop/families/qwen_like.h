// What the configs of Qwen have beside those of Llama.
#pragma once

#include "interop/families/llama_like.h"
#include "interop/families/written_fields.h"

namespace axle {

/// Reads the fields of windows. Throws DataError for a model in which layers see windows.
void check_full_attention(const ForeignConfig& config);
/// Returns the fields of Llama, and those that say that no layer sees a window.
nlohmann::ordered_json qwen_fields(const PlainModel& model);

}  // namespace axle
