#include "interop/gguf/gguf_rope.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char *kDivisors = "rope_freqs.weight", *kLong = "rope_factors_long.weight",
                     *kShort = "rope_factors_short.weight";

// The divisors of the frequencies in a tensor, one for each of the pairs that are turned.
std::vector<double> divisors_in(const GgufFile& file, const char* name, int64_t num_pairs) {
  const Type type = file.type(name);
  if (type != Type{DType::kF32, {num_pairs}}) {
    throw DataError(fmt::format("{}: {}: expected {}, got {}", file.path().string(), name,
                                to_text(Type{DType::kF32, {num_pairs}}), to_text(type)));
  }
  const HostTensor values = file.get(name);
  const auto floats = values.values<float>();
  return {floats.begin(), floats.end()};
}

// Adds divisors; those of long texts are for texts beyond the original length.
void add_divisors(const GgufKeys& keys, int64_t num_pairs, Json& out) {
  const GgufFile& file = keys.file();
  const bool are_alike = file.contains(kDivisors);
  out["rope_type"] = "longrope";
  out["short_factor"] = divisors_in(file, are_alike ? kDivisors : kShort, num_pairs);
  out["long_factor"] = divisors_in(file, are_alike ? kDivisors : kLong, num_pairs);
  out["attention_factor"] = keys.number("rope.scaling.attn_factor", 1);
}

void add_yarn(const GgufKeys& keys, double factor, Json& out) {
  if (factor == 0) keys.at("rope.scaling.factor").fail("a factor");
  out["factor"] = factor;
  keys.expect("rope.scaling.yarn_ext_factor", 1.0);
  if (keys.has("rope.scaling.yarn_attn_factor"))
    out["attention_factor"] = keys.number("rope.scaling.yarn_attn_factor");
  for (const std::string name : {"beta_fast", "beta_slow"}) {
    const std::string key = "rope.scaling.yarn_" + name;
    if (keys.has(key)) out[name] = keys.number(key);
  }
}

bool has_divisors(const GgufFile& file) {
  return std::ranges::any_of(rope_tensors(),
                             [&](const std::string& name) { return file.contains(name); });
}

}  // namespace

const std::set<std::string>& rope_tensors() {
  static const std::set<std::string> names = {kDivisors, kLong, kShort};
  return names;
}

Json rope_fields(const GgufKeys& keys, int64_t head_dim) {
  Json out = {{"rope_theta", keys.number("rope.freq_base", 1e4)}};
  const int64_t turned = keys.size("rope.dimension_count", head_dim);
  if (turned > head_dim)
    keys.at("rope.dimension_count").fail(fmt::format("at most {}, the dim of a head", head_dim));
  if (turned < head_dim)
    out["partial_rotary_factor"] = static_cast<double>(turned) / static_cast<double>(head_dim);
  // An old name of the key, which the new one overrides.
  const double factor = keys.number("rope.scaling.factor", keys.number("rope.scale_linear", 0));
  const int64_t original_len =
      keys.size("rope.scaling.original_context_length", keys.size("context_length"));
  const auto type = keys.find("rope.scaling.type");
  std::string name = type ? type->text() : factor == 0 ? "none" : "linear";
  if (name == "linear" && factor == 0) name = "none";
  if (has_divisors(keys.file())) {
    if (name == "linear" || name == "yarn") {
      throw DataError(fmt::format("{}: expected {} or divisors of frequencies, got both",
                                  keys.file().path().string(), name));
    }
    name = "longrope";
  }
  if (name == "none") {
    out["rope_type"] = "default";
    return out;
  }
  out["rope_type"] = name;
  if (name == "linear") {
    out["factor"] = factor;
    return out;
  }
  out["original_max_position_embeddings"] = original_len;
  if (name == "longrope")
    add_divisors(keys, turned / 2, out);
  else if (name == "yarn")
    add_yarn(keys, factor, out);
  else
    type->fail("none, linear, yarn or longrope");
  return out;
}

}  // namespace axle
