#include "interop/gguf/gguf_architecture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "base/text/text.h"
#include "layers/positions/frequencies.h"

namespace axle {
namespace {

constexpr int64_t kLargestSize = (int64_t{1} << 31) - 1;

int64_t size_in(const GgufView& view) { return view.integer(1, kLargestSize); }

// A float stands for the decimal number that is written with the fewest digits: 1e-6, and not
// 9.99999997e-7.
double number_in(const GgufView& view) {
  const double out = view.number();
  if (!std::isfinite(out)) view.fail("a finite number");
  if (view.value().type() != GgufType::kF32) return out;
  return std::strtod(fmt::format("{}", static_cast<float>(out)).c_str(), nullptr);
}

nlohmann::ordered_json json_of(const GgufValue& value) {
  if (value.type() == GgufType::kBool) return value.bytes()[0] != 0;
  return to_text(value);
}

}  // namespace

GgufKeys::GgufKeys(const GgufHeader& header, std::string where, ValuesOf values)
    : header_(&header),
      where_(std::move(where)),
      values_(std::move(values)),
      architecture_(metadata().at("general.architecture").text()) {}

const Shape& GgufKeys::shape(const std::string& tensor) const {
  const auto found = header_->tensors.find(tensor);
  if (found == header_->tensors.end())
    throw DataError(fmt::format("{}: expected a tensor {}, got none", where_, tensor));
  return found->second.shape;
}

std::string GgufKeys::key(std::string_view name) const {
  return architecture_ + "." + std::string(name);
}

std::optional<GgufView> GgufKeys::find(std::string_view name) const {
  const std::string whole = key(name);
  read_.insert(whole);
  return metadata().find(whole);
}

GgufView GgufKeys::at(std::string_view name) const {
  const std::string whole = key(name);
  read_.insert(whole);
  return metadata().at(whole);
}

int64_t GgufKeys::size(std::string_view name) const { return size_in(at(name)); }

int64_t GgufKeys::size(std::string_view name, int64_t fallback) const {
  const auto found = find(name);
  return found ? size_in(*found) : fallback;
}

std::optional<int64_t> GgufKeys::count(std::string_view name) const {
  const auto found = find(name);
  const int64_t out = found ? found->integer(0, kLargestSize) : 0;
  return out == 0 ? std::nullopt : std::optional(out);
}

double GgufKeys::number(std::string_view name) const { return number_in(at(name)); }

double GgufKeys::number(std::string_view name, double fallback) const {
  const auto found = find(name);
  return found ? number_in(*found) : fallback;
}

void GgufKeys::expect(std::string_view name, double value) const {
  const auto found = find(name);
  if (found && found->number() != value) found->fail(fmt::format("{}", value));
}

void GgufKeys::expect(std::string_view name, bool value) const {
  const auto found = find(name);
  if (found && found->boolean() != value) found->fail(value ? "true" : "false");
}

void GgufKeys::ignore(const std::vector<std::string_view>& names) const {
  for (const std::string_view name : names) read_.insert(key(name));
}

void GgufKeys::add_unread(nlohmann::ordered_json& fields) const {
  for (const auto& [key, value] : metadata().entries()) {
    if (key.starts_with(architecture_ + ".") && !read_.contains(key)) fields[key] = json_of(value);
  }
}

GgufKeyWriter::GgufKeyWriter(std::string architecture) : architecture_(std::move(architecture)) {
  metadata_.set("general.architecture", architecture_);
  metadata_.set("general.type", "model");
}

std::string GgufKeyWriter::key(std::string_view name) const {
  return architecture_ + "." + std::string(name);
}

void GgufKeyWriter::size(std::string_view name, int64_t value) {
  metadata_.set(key(name), static_cast<uint32_t>(value));
}

void GgufKeyWriter::number(std::string_view name, double value) {
  metadata_.set(key(name), static_cast<float>(value));
}

void GgufKeyWriter::text(std::string_view name, const std::string& value) {
  metadata_.set(key(name), value);
}

void GgufKeyWriter::flags(std::string_view name, const std::vector<bool>& values) {
  std::string bytes;
  for (const bool value : values) bytes += value ? '\1' : '\0';
  metadata_.set(key(name), GgufValue(GgufType::kBool, std::move(bytes)));
}

void GgufKeyWriter::tensor(const std::string& name, const std::vector<double>& values) {
  HostTensor out(Type{DType::kF32, {std::ssize(values)}});
  std::ranges::transform(values, out.values<float>().begin(),
                         [](double value) { return static_cast<float>(value); });
  tensors_.insert_or_assign(name, std::move(out));
}

namespace {

std::map<std::string_view, GgufArchitecture>& architectures() {
  static std::map<std::string_view, GgufArchitecture> all;
  return all;
}

}  // namespace

GgufArchitectureRow::GgufArchitectureRow(const GgufArchitecture& architecture) {
  AXLE_CHECK(architectures().emplace(architecture.name, architecture).second,
             "two architectures " + std::string(architecture.name));
}

const GgufArchitecture& architecture_of(const GgufKeys& keys) {
  const auto found = architectures().find(keys.architecture());
  if (found != architectures().end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [name, architecture] : architectures()) names.emplace_back(name);
  keys.metadata().at("general.architecture").fail("one of " + join(names, ", "));
}

const GgufArchitecture& architecture_for(const ForeignConfig& config) {
  const std::string family = config.text("model_type", "");
  std::vector<std::string> names;
  for (const auto& [name, architecture] : architectures()) {
    if (std::ranges::count(architecture.families, family) > 0) return architecture;
    names.insert(names.end(), architecture.families.begin(), architecture.families.end());
  }
  throw ConfigError(fmt::format("{}: expected a model of one of {} for GGUF, got {}",
                                config.where(), join(names, ", "), family));
}

namespace {

using Json = nlohmann::ordered_json;

constexpr const char *kDivisors = "rope_freqs.weight", *kLong = "rope_factors_long.weight",
                     *kShort = "rope_factors_short.weight";

// The divisors of the frequencies in a tensor, one for each of the pairs that are rotated.
std::vector<double> divisors_in(const GgufKeys& keys, const char* name, int64_t num_pairs) {
  if (const Shape& shape = keys.shape(name); shape != Shape{num_pairs}) {
    throw DataError(fmt::format("{}: {}: expected {} numbers, got {}", keys.where(), name,
                                num_pairs, to_text(shape)));
  }
  const HostTensor values = keys.values(name).astype(DType::kF32);
  const auto floats = values.values<float>();
  return {floats.begin(), floats.end()};
}

// Adds divisors; divisors of long texts are for texts beyond the original length.
void add_divisors(const GgufKeys& keys, int64_t num_pairs, Json& out) {
  const bool are_alike = keys.has_tensor(kDivisors);
  out["rope_type"] = "longrope";
  out["short_factor"] = divisors_in(keys, are_alike ? kDivisors : kShort, num_pairs);
  out["long_factor"] = divisors_in(keys, are_alike ? kDivisors : kLong, num_pairs);
  out["attention_factor"] = keys.number("rope.scaling.attn_factor", 1);
}

void add_yarn(const GgufKeys& keys, double factor, Json& out) {
  if (factor == 0) keys.at("rope.scaling.factor").fail("a factor");
  out["factor"] = factor;
  keys.expect("rope.scaling.yarn_ext_factor", 1.0);
  // The first is the whole factor, the second one multiplies the usual one.
  if (keys.has("rope.scaling.yarn_attn_factor"))
    out["attention_factor"] = keys.number("rope.scaling.yarn_attn_factor");
  else if (keys.has("rope.scaling.attn_factor"))
    out["attention_factor"] =
        (0.1 * std::log(factor) + 1) * keys.number("rope.scaling.attn_factor");
  for (const std::string name : {"beta_fast", "beta_slow"}) {
    const std::string key = "rope.scaling.yarn_" + name;
    if (keys.has(key)) out[name] = keys.number(key);
  }
}

bool has_divisors(const GgufKeys& keys) {
  return std::ranges::any_of(rope_tensors(),
                             [&](const std::string& name) { return keys.has_tensor(name); });
}

[[noreturn]] void refuse(const std::string& what) {
  throw ConfigError(
      fmt::format("--format gguf: expected rotary positions that llama.cpp knows, "
                  "got {}",
                  what));
}

void write_yarn(const YaRNFrequencies& yarn, GgufKeyWriter& keys) {
  if (double{yarn.beta_fast} != 32 || double{yarn.beta_slow} != 1 || !yarn.whole_indices)
    refuse("YaRN with other bounds than 32 and 1, at whole indices");
  const double factor = *yarn.factor;
  keys.text("rope.scaling.type", "yarn");
  keys.number("rope.scaling.factor", factor);
  keys.size("rope.scaling.original_context_length", *yarn.original_len);
  if (yarn.attention_factor)
    keys.number("rope.scaling.attn_factor",
                double{*yarn.attention_factor} / (0.1 * std::log(factor) + 1));
}

// Frequencies that only the divisors of the plain ones describe.
void write_divisors(const RoPE::Config& rope, const FrequencySpec& spec,
                    const RopeAbilities& abilities, GgufKeyWriter& keys) {
  if (abilities.divisors.empty()) refuse("divisors of frequencies in " + keys.architecture());
  const Frequencies own = rope.frequencies(spec), plain = PlainFrequencies{}(spec);
  const auto divisors_of = [&](const std::vector<double>& radians) {
    std::vector<double> out;
    for (size_t i = 0; i < radians.size(); ++i) out.push_back(plain.radians[i] / radians[i]);
    return out;
  };
  if (own.growth) refuse("frequencies that fall with the length of a text");
  const bool differ = !own.long_radians.empty();
  const auto is_long = [](const std::string& name) { return name == kLong; };
  if (differ && std::ranges::none_of(abilities.divisors, is_long))
    refuse("divisors of long texts in " + keys.architecture());
  for (const std::string& name : abilities.divisors)
    keys.tensor(name, divisors_of(differ && is_long(name) ? own.long_radians : own.radians));
  if (differ) keys.size("rope.scaling.original_context_length", own.long_from);
  if (own.scale != 1) keys.number("rope.scaling.attn_factor", own.scale);
}

}  // namespace

const std::set<std::string>& rope_tensors() {
  static const std::set<std::string> names = {kDivisors, kLong, kShort};
  return names;
}

Json rope_fields(const GgufKeys& keys, int64_t head_dim) {
  Json out = {{"rope_theta", keys.number("rope.freq_base", 1e4)}};
  const int64_t num_rotated = keys.size("rope.dimension_count", head_dim);
  if (num_rotated > head_dim)
    keys.at("rope.dimension_count").fail(fmt::format("at most {}, the dim of a head", head_dim));
  if (num_rotated < head_dim)
    out["partial_rotary_factor"] = static_cast<double>(num_rotated) / static_cast<double>(head_dim);
  // An old name of the key, which the new one overrides.
  const double factor = keys.number("rope.scaling.factor", keys.number("rope.scale_linear", 0));
  const int64_t original_len =
      keys.size("rope.scaling.original_context_length", keys.size("context_length"));
  const auto type = keys.find("rope.scaling.type");
  std::string name = type ? type->text() : factor == 0 ? "none" : "linear";
  if (name == "linear" && factor == 0) name = "none";
  if (has_divisors(keys)) {
    if (name == "linear" || name == "yarn") {
      throw DataError(
          fmt::format("{}: expected {} or divisors of frequencies, got both", keys.where(), name));
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
    add_divisors(keys, num_rotated / 2, out);
  else if (name == "yarn")
    add_yarn(keys, factor, out);
  else
    type->fail("none, linear, yarn or longrope");
  return out;
}

void write_rope_keys(const RoPE::Config& rope, int64_t head_dim, const RopeAbilities& abilities,
                     GgufKeyWriter& keys) {
  const int64_t num_rotated = std::llround(double{rope.fraction} * static_cast<double>(head_dim));
  if (num_rotated != head_dim && !abilities.rotates_parts)
    refuse("a part of a head in " + keys.architecture());
  keys.size("rope.dimension_count", num_rotated);
  keys.number("rope.freq_base", rope.theta);
  const AnyConfig& fn = rope.frequencies.functor();
  if (fn.get_if<PlainFrequencies>()) return;
  if (const auto* const linear = fn.get_if<LinearFrequencies>()) {
    keys.text("rope.scaling.type", "linear");
    keys.number("rope.scaling.factor", *linear->factor);
  } else if (const auto* const yarn = fn.get_if<YaRNFrequencies>()) {
    write_yarn(*yarn, keys);
  } else {
    write_divisors(rope, {.theta = rope.theta, .dim = num_rotated}, abilities, keys);
  }
}

}  // namespace axle
