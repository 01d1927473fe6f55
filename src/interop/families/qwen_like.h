// What the configs of Qwen have beside those of Llama.
#pragma once

#include "interop/families/llama_like.h"

namespace axle {

/// Reads the fields of windows. Throws DataError for a model in which layers see windows.
void check_full_attention(const ForeignConfig& config);

}  // namespace axle
