// Rotary positions in the keys and tensors of a GGUF file.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "interop/gguf/gguf_key_writer.h"
#include "interop/gguf/gguf_keys.h"
#include "layers/attention/qkv/rope.h"

namespace axle {

/// Returns what `rope_parameters` of a config.json would hold: the base, its scaling, the part of a
/// head of `head_dim` elements that is turned, and divisors of the frequencies. Throws DataError
/// for a scaling that Axle does not know.
nlohmann::ordered_json rope_fields(const GgufKeys& keys, int64_t head_dim);
/// What llama.cpp does for an architecture beside turning all of a head by plain, linear or YaRN
/// frequencies.
struct RopeAbilities {
  /// The tensors of divisors of the frequencies that it reads.
  std::vector<std::string> divisors = {};
  bool turns_parts = false;
};
/// Writes the keys and tensors of a rotation of heads of `head_dim` elements. Throws ConfigError
/// for one that llama.cpp does not do.
void write_rope_keys(const RoPE::Config& rope, int64_t head_dim, const RopeAbilities& abilities,
                     GgufKeyWriter& keys);
/// Returns the tensors that rope_fields reads.
const std::set<std::string>& rope_tensors();

}  // namespace axle
