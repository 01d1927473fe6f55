#include "recipes/resolve/check_recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/process_start.h"
#include "base/text/text.h"
#include "base/text/unicode.h"
#include "base/text/yaml.h"
#include "config/missing.h"
#include "config/registry.h"
#include "config/serialize.h"
#include "data/chat/chat_input.h"
#include "data/data_file.h"
#include "data/synthetic_input.h"
#include "data/token_files/token_input.h"
#include "layers/models/beside_frozen.h"
#include "recipes/resolve/use_data.h"
#include "targets/accelerators.h"

namespace axle {
namespace {

// Token files of pairs say that each is to have a row.
void check_sources_of_pairs(const Trainer::Config& config) {
  const auto* const tokens = config.input.get_if<TokenInput>();
  if (!tokens) return;
  const int64_t num_pairs = num_sources_of_pairs(*tokens);
  if (num_pairs > 0 && num_pairs < std::ssize(tokens->sources)) {
    throw ConfigError(fmt::format(
        "input.sources: expected pairs of answers in all sources or in none, got {} of {}",
        num_pairs, tokens->sources.size()));
  }
}

// A path of nothing, or of a damaged file, is the first mistake: nobody knows what it would hold.
void check_sources_have_data(Child<Input> input) {
  const auto* const tokens = input.get_if<TokenInput>();
  if (!tokens) {
    for (const std::string& path : text_paths(input)) check_has_record(path, "input.source.path");
    return;
  }
  for (const auto& [name, source] : tokens->sources) {
    if (source.path.has_value() && !is_token_file(*source.path))
      check_has_record(*source.path, fmt::format("input.sources.{}.path", name));
  }
}

// A model that takes both answers of a pair for what it should say would learn the worse one too.
void check_pairs(const Trainer::Config& config) {
  check_sources_of_pairs(config);
  const bool has_pairs = gives_pairs(config.input),
             takes_pairs = config.model.get_if<PreferenceLM>() != nullptr;
  if (has_pairs && !takes_pairs) {
    throw ConfigError(
        "model: expected a PreferenceLM for pairs of answers, got another; add --dpo beta=0.1");
  }
  if (takes_pairs && !has_pairs) {
    if (config.input.get_if<SyntheticInput>())
      throw ConfigError("input.pairs: expected true for a PreferenceLM, got false");
    check_sources_have_data(config.input);
    throw ConfigError(
        "input: expected pairs of answers (PreferenceInput) for a PreferenceLM, got others; --data "
        "takes JSON Lines with 'prompt', 'chosen' and 'rejected', and what data build makes of "
        "them");
  }
}

}  // namespace

void check_recipe(const Trainer::Config& config) {
  try {
    check_complete(config);
  } catch (const ConfigError& error) {
    const auto is_text = [](const std::string& path) { return path.ends_with("source.path"); };
    const std::vector<std::string> unset = missing(config);
    if (unset.empty()) throw;
    std::string advice = "; set each with --set or in a file";
    if (std::ranges::any_of(unset, is_text)) {
      advice = "; --data PATH names a file or folder of text, --data " +
               std::string(kSyntheticData) + " needs none";
    }
    throw ConfigError(error.what() + advice);
  }
  check_pairs(config);
}

namespace {

using Json = nlohmann::ordered_json;

AnyConfig modifier_named(const std::string& name) {
  const std::vector<std::string> known = names_of(typeid(Modifier));
  const auto at = std::ranges::find_if(known, [&](const auto& k) { return is_name_of(k, name); });
  return AnyConfig::with_defaults(
      find_config_type(typeid(Modifier), at == known.end() ? name : *at));
}

}  // namespace

bool is_name_of(std::string_view modifier, std::string_view name) {
  return lower_case(modifier) == lower_case(name);
}

std::optional<NamedModifier> named_modifier(const Json& value) {
  if (value.is_string()) return NamedModifier{value.get<std::string>(), nullptr};
  if (!value.is_object()) return {};
  if (const auto name = value.find("class"); name != value.end()) {
    if (!name->is_string()) return {};
    NamedModifier out{name->get<std::string>(), value};
    out.fields.erase("class");
    return out;
  }
  if (value.size() != 1) return {};
  return NamedModifier{value.begin().key(), value.begin().value()};
}

std::vector<Rewrite> apply_modifier_named(const std::string& name, const Json& fields,
                                          Trainer::Config& config) {
  Child<Modifier> modifier;
  modifier.put(modifier_named(name));
  const std::string known(modifier.any().type().name);
  if (!fields.is_null() && !fields.is_object()) {
    throw ConfigError(
        fmt::format("{}: expected a mapping of fields, got {}", known, printable(fields.dump())));
  }
  if (fields.is_object()) from_json(modifier, fields, known);
  return apply_modifier(modifier, "modify", config);
}

NamedModifier UseModifier::named() const {
  if (auto modifier = named_modifier(parse_yaml(text, flag))) return std::move(*modifier);
  throw ConfigError(
      fmt::format("{}: expected one modifier, 'Name' or 'Name: {{field: value}}', got '{}'", flag,
                  printable(text)));
}

std::vector<Rewrite> UseModifier::apply_to(Trainer::Config& config) const {
  const NamedModifier modifier = named();
  return apply_modifier_named(modifier.name, modifier.fields, config);
}

namespace {

namespace fs = std::filesystem;

// Returns a name like "NVIDIA H100 80GB HBM3" for each GPU of the driver.
std::vector<std::string> gpu_models(const fs::path& proc) {
  std::vector<std::string> out;
  std::error_code missing;
  for (const auto& gpu : fs::directory_iterator(proc / "driver/nvidia/gpus", missing)) {
    std::ifstream information(gpu.path() / "information");
    for (std::string line; std::getline(information, line);) {
      if (line.starts_with("Model:")) out.emplace_back(trim(std::string_view(line).substr(6)));
    }
  }
  return out;
}

std::string gpu_machine(const fs::path& proc) {
  const std::vector<std::string> models = gpu_models(proc);
  if (models.empty()) return {};
  const std::string model = lower_case(models[0]);
  for (const Accelerator& row : accelerators()) {
    if (row.platform == "cuda" && model.find(row.name) != std::string::npos)
      return fmt::format("{}-{}", row.machine_prefix, models.size());
  }
  return {};
}

std::string tpu_machine() {
  const std::string type = environment_variable("TPU_ACCELERATOR_TYPE");
  return type.empty() ? type : "tpu-" + type;
}

// Returns the machine type of a cloud machine that has all of its devices, as in "trn2.48xlarge".
std::string cloud_machine(std::string_view backend, const fs::path& dmi) {
  std::ifstream file(dmi / "product_name");
  std::string product;
  std::getline(file, product);
  const std::string prefix = fmt::format("{}-{}", backend, trim(product));
  for (const Accelerator& row : accelerators()) {
    if (row.platform == backend && row.machine_prefix == prefix)
      return fmt::format("{}-{}", prefix, row.devices_per_host);
  }
  return {};
}

}  // namespace

std::string host_machine(std::string_view backend, const fs::path& proc, const fs::path& dmi) {
  if (backend == "cpu" || backend == "interpreter")
    return fmt::format("cpu-{}", std::thread::hardware_concurrency());
  const std::string known = backend == "cuda"  ? gpu_machine(proc)
                            : backend == "tpu" ? tpu_machine()
                                               : cloud_machine(backend, dmi);
  return known.empty() ? fmt::format("{}-unknown", backend) : known;
}

}  // namespace axle
