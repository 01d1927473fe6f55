// The architectures of GGUF for Gemma.
#pragma once

#include "interop/gguf/llama_like_gguf.h"

namespace axle {

/// Returns the rows of the tensors of both. The scale of each norm is stored whole there, and not
/// less 1.
std::vector<GgufName> gemma_names();
/// Returns the number whose root divides queries: the dim of a head, except in the largest model,
/// which has `layers_of_largest` layers. `fields` are from llama_like_fields().
int64_t scaled_dim_of(const GgufKeys& keys, const nlohmann::ordered_json& fields,
                      int64_t layers_of_largest);

}  // namespace axle
