#include "interop/peft_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/text/json.h"
#include "base/text/unicode.h"
#include "interop/foreign/safetensors_folder.h"
#include "io/file.h"

namespace axle {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// A kind of value, as messages call it.
struct Kind {
  std::string_view name;
  bool (*fits)(const Json& value);
};

bool is_size(const Json& value) { return value.is_number_integer() && value > 0; }
bool is_number(const Json& value) {
  return value.is_number() && std::isfinite(value.get<double>());
}
template <bool (*fits)(const Json&)>
bool all_of(const Json& value) {
  return std::ranges::all_of(value, fits);
}
bool is_text(const Json& value) { return value.is_string(); }
bool is_index(const Json& value) { return value.is_number_integer() && value >= 0; }
bool is_indices(const Json& value) { return value.is_array() && all_of<is_index>(value); }
bool is_texts(const Json& value) { return value.is_array() && all_of<is_text>(value); }

constexpr Kind kText{"a text", is_text},
    kFlag{"true or false", [](const Json&value) { return value.is_boolean(); }},
    kSize{"an integer above 0", is_size}, kNumber{"a finite number", is_number},
    kTexts{"a list of texts", is_texts},
    kNames{"a text or a list of texts",
           [](const Json&value) { return is_text(value) || is_texts(value); }},
    kIndices{"a list of integers from 0", is_indices},
    kLayers{"an integer from 0 or a list of them",
            [](const Json&value) { return is_index(value) || is_indices(value); }},
    kTokens{"a list of integers from 0, or such lists by name",
            [](const Json&value) {
              return is_indices(value) || (value.is_object() && all_of<is_indices>(value));
            }},
    kRanges{"a list of lists of integers from 0",
            [](const Json&value) { return value.is_array() && all_of<is_indices>(value); }},
    kSizesByPattern{"integers above 0 by patterns of modules",
                    [](const Json&value) { return value.is_object() && all_of<is_size>(value); }},
    kNumbersByPattern{
        "numbers by patterns of modules",
        [](const Json&value) { return value.is_object() && all_of<is_number>(value); }},
    kBeginning{"true, false or a text",
               [](const Json&value) { return value.is_boolean() || is_text(value); }},
    kFields{"an object", [](const Json&value) { return value.is_object(); }};

// All that peft writes.
const std::map<std::string_view, Kind>& kinds() {
  static const std::map<std::string_view, Kind> out = {
      {"alora_invocation_tokens", kIndices},
      {"alpha_pattern", kNumbersByPattern},
      {"arrow_config", kFields},
      {"auto_mapping", kFields},
      {"base_model_name_or_path", kText},
      {"bias", kText},
      {"corda_config", kFields},
      {"ensure_weight_tying", kFlag},
      {"eva_config", kFields},
      {"exclude_modules", kNames},
      {"fan_in_fan_out", kFlag},
      {"inference_mode", kFlag},
      {"init_lora_weights", kBeginning},
      {"kasa_config", kFields},
      {"layer_replication", kRanges},
      {"layers_pattern", kNames},
      {"layers_to_transform", kLayers},
      {"loftq_config", kFields},
      {"lora_alpha", kNumber},
      {"lora_bias", kFlag},
      {"lora_dropout", kNumber},
      {"lora_ga_config", kFields},
      {"megatron_config", kFields},
      {"megatron_core", kText},
      {"modules_to_save", kTexts},
      {"monteclora_config", kFields},
      {"peft_type", kText},
      {"peft_version", kText},
      {"qalora_group_size", kSize},
      {"r", kSize},
      {"rank_pattern", kSizesByPattern},
      {"revision", kText},
      {"runtime_config", kFields},
      {"target_modules", kNames},
      {"target_parameters", kTexts},
      {"task_type", kText},
      {"trainable_token_indices", kTokens},
      {"use_bdlora", kFields},
      {"use_dora", kFlag},
      {"use_qalora", kFlag},
      {"use_rslora", kFlag},
      {"velora_config", kFields},
  };
  return out;
}

void check_kinds(const PeftConfig& config, const std::vector<std::string>& ignored) {
  for (const auto& [name, value] : config.json.items()) {
    const auto known = kinds().find(name);
    if (known == kinds().end() || value.is_null() || std::ranges::count(ignored, name) > 0)
      continue;
    if (!known->second.fits(value)) config.fields.fail(name, known->second.name);
  }
}

constexpr std::string_view kAlphas = "alpha_pattern", kStart = "init_lora_weights";

// Rethrows what a pattern has wrong as a mistake of the file.
template <class Fn>
auto with_pattern(const ForeignConfig& config, Fn&& fn) {
  try {
    return fn();
  } catch (const ConfigError& error) {
    throw DataError(fmt::format("{}: {}: {}", config.where(), kAlphas, error.what()));
  }
}

}  // namespace

PeftConfig read_peft_config(const fs::path& folder) {
  const fs::path file = folder / kPeftConfig;
  Json json = json_as<DataError>(file.string(), [&] { return read_json(read_file(file)); });
  return {json, ForeignConfig(json, file.string())};
}

PeftScaling::PeftScaling(const PeftConfig& config, const std::vector<std::string>& ignored)
    : config_(config.fields) {
  check_kinds(config, ignored);
  alpha_ = config_.optional_number("lora_alpha");
  by_root_ = config_.flag("use_rslora", false);
  dropout_ = config_.number("lora_dropout", 0);
  // What the tensors say, and how they began.
  config_.ignore({"task_type",
                  "base_model_name_or_path",
                  "revision",
                  "r",
                  "rank_pattern",
                  "target_modules",
                  "exclude_modules",
                  "layers_to_transform",
                  "layers_pattern",
                  "fan_in_fan_out",
                  "inference_mode",
                  "auto_mapping",
                  "peft_version",
                  "qalora_group_size",
                  "runtime_config",
                  "megatron_core",
                  "modules_to_save",
                  "ensure_weight_tying",
                  kStart,
                  kAlphas});
  config_.expect("peft_type", "LORA");
  config_.expect("bias", "none");
  if (const auto start = config.json.find(kStart);
      start != config.json.end() && start->is_string() && *start != "gaussian")
    fail(kStart, "true, false or gaussian, which leave the base as it is");
  if (dropout_ < 0 || dropout_ >= 1) fail("lora_dropout", "at least 0 and less than 1");
  if (std::ranges::count(ignored, kAlphas) == 0 && config_.has(kAlphas)) {
    for (const auto& item : config.json.at(kAlphas).items()) {
      with_pattern(config_, [&] {
        patterns_.emplace_back(Regex("(?:.*\\.)?(?:" + item.key() + ")"),
                               item.value().get<double>());
      });
    }
  }
  config_.check_all_read(ignored);
}

double PeftScaling::alpha_of(const std::string& module, int64_t rank) const {
  std::optional<double> out = alpha_;
  for (const auto& own : patterns_) {
    if (!with_pattern(config_, [&] { return own.first.match(module).has_value(); })) continue;
    out = own.second;
    break;
  }
  if (!out || *out <= 0) fail("lora_alpha", "a number above 0");
  return by_root_ ? *out * std::sqrt(static_cast<double>(rank)) : *out;
}

namespace {

namespace fs = std::filesystem;

constexpr const char* kModules = "modules_to_save";

fs::path checked_file(const fs::path& folder) {
  if (path_exists(folder / kPeftTensors)) return folder / kPeftTensors;
  throw DataError(
      fmt::format("{}: expected {}, got {}", folder.string(), kPeftTensors, weights_there(folder)));
}

}  // namespace

bool is_peft_adapter(std::string_view tensor) { return tensor.find(".lora_") != tensor.npos; }

PeftSavedModules::PeftSavedModules(const fs::path& folder, const std::vector<std::string>& ignored)
    : where_((folder / kPeftTensors).string()), file_(checked_file(folder)) {
  for (const std::string& name : file_.names()) {
    if (name.starts_with(kPeftPrefix) && !is_peft_adapter(name))
      names_.push_back(name.substr(kPeftPrefix.size()));
  }
  const PeftConfig config = read_peft_config(folder);
  ties_head_ = config.fields.flag("ensure_weight_tying", false);
  if (std::ranges::count(ignored, kModules) > 0) return;
  for (const std::string& module : config.fields.texts(kModules)) {
    // peft takes each module whose name ends so.
    const auto is_of_module = [&](const std::string& tensor) {
      return tensor.substr(0, tensor.rfind('.')).ends_with(module);
    };
    if (std::ranges::any_of(names_, is_of_module)) continue;
    config.fields.fail(kModules, fmt::format("modules whose tensors {} holds, and {} is not there",
                                             kPeftTensors, printable(module)));
  }
}

std::string PeftSavedModules::name_in_file(const std::string& name) const {
  return std::string(kPeftPrefix) + name;
}

}  // namespace axle
