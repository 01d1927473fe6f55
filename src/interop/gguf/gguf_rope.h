// Rotary positions in the keys and tensors of a GGUF file.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "interop/gguf/gguf_keys.h"

namespace axle {

/// Returns what `rope_parameters` of a config.json would hold: the base, its scaling, the part of a
/// head of `head_dim` elements that is turned, and divisors of the frequencies. Throws DataError
/// for a scaling that Axle does not know.
nlohmann::ordered_json rope_fields(const GgufKeys& keys, int64_t head_dim);
/// Returns the tensors that rope_fields reads.
const std::set<std::string>& rope_tensors();

}  // namespace axle
