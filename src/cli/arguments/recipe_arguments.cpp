#include "cli/arguments/recipe_arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/unicode.h"
#include "base/text/yaml.h"
#include "checkpoint/folder.h"
#include "cli/arguments/options.h"
#include "config/serialize.h"
#include "data/text_source.h"
#include "interop/foreign_model.h"
#include "io/file.h"
#include "layers/products/quantized_product.h"
#include "recipes/fine_tune.h"
#include "recipes/recipe.h"
#include "recipes/resolve/check_recipe.h"
#include "recipes/resolve/recipe_file.h"
#include "recipes/resolve/resolve.h"
#include "recipes/resolve/use_data.h"

namespace axle::cli {
namespace {

// Adds a flag that takes effect while it is parsed, so that flags keep their order.
CLI::Option* add_flag(CLI::App& app, const char* flag, const char* value, const char* help,
                      const std::function<void(const std::string&)>& take) {
  return app.add_option_function<std::string>(flag, take, help)
      ->type_name(value)
      ->trigger_on_parse();
}

SetField parse_set(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == text.npos || equals == 0)
    throw CLI::ValidationError("--set", fmt::format("expected PATH=VALUE, got '{}'", text));
  std::string value = text.substr(equals + 1);
  // The name of a file need not be UTF-8; configs store it escaped. In double quotes YAML would
  // read the escapes itself.
  if (find_invalid_utf8(value) && value.find('"') == value.npos) value = text_of_path(value);
  return {text.substr(0, equals), std::move(value)};
}

// A modifier with the fields that the value of a flag names.
template <class Modifier>
UseModifier use_of(const char* name, const char* flag, const std::vector<FlagField>& fields) {
  return {fmt::format("{}: {}", name, flow_text(fields, Modifier::Config::config_type())), flag};
}

template <class Modifier>
FlagRequest<Modifier> request_of(const char* flag, const std::vector<FlagField>& fields) {
  FlagRequest<Modifier> out{.flag = flag};
  axle::Child<axle::Modifier> modifier = typename Modifier::Config{};
  from_json(modifier, parse_yaml(flow_text(fields, Modifier::Config::config_type()), flag), flag);
  out.fields = *modifier.get_if<Modifier>();
  for (const FlagField& field : fields) out.given.push_back(field.name);
  return out;
}

// Weights as codes, in the form of the start that --init-from names.
constexpr const char* kCodesAsStored = "KeepAsCodes";

// A field of --qlora that is one of QuantizedProduct.
bool is_of_codes(const FlagField& field) {
  return field.name == "bits" || field.name == "group" || field.name == "scales" ||
         field.name == "offsets";
}

// The fields of adapters alone.
std::vector<FlagField> adapter_fields(const char* flag, const std::string& text) {
  std::vector<FlagField> out = flag_fields(flag, text);
  std::erase_if(out, is_of_codes);
  return out;
}

// Adapters, and weights as codes below them: "rank=16,bits=8".
std::vector<UseModifier> qlora(const std::string& text) {
  constexpr const char* kFlag = "--qlora";
  std::vector<FlagField> product = flag_fields(kFlag, text);
  std::erase_if(product, [](const FlagField& field) { return !is_of_codes(field); });
  std::string codes = kCodesAsStored;
  if (!product.empty()) {
    product.insert(product.begin(), {"class", "QuantizedProduct"});
    codes +=
        fmt::format(": {{with: {}}}", flow_text(product, QuantizedProduct::Config::config_type()));
  }
  return {{codes, kFlag}, use_of<Lora>("Lora", kFlag, adapter_fields(kFlag, text))};
}

// Names the start where --qlora asks for its codes.
void take_codes_of(const std::filesystem::path& start, std::vector<Edit>& edits) {
  for (Edit& edit : edits) {
    auto* const use = std::get_if<UseModifier>(&edit);
    if (use && use->text == kCodesAsStored) {
      const nlohmann::json from = text_of_path(start.string());
      use->text = fmt::format("{}: {{from: {}}}", kCodesAsStored, from.dump());
    }
  }
}

// Whether a flag or a file asks for adapters, by name or by the flag's own.
bool adds_adapters(const ResolveRequest& request) {
  const auto is_lora = [](const std::string& name) { return is_name_of("Lora", name); };
  return std::ranges::any_of(request.edits,
                             [&](const Edit& edit) {
                               const auto* const use = std::get_if<UseModifier>(&edit);
                               return use && is_lora(use->named().name);
                             }) ||
         std::ranges::any_of(request.files, [&](const RecipeFile& file) {
           return std::ranges::any_of(file.modify, is_lora, &RecipeFileEntry::key);
         });
}

// Whether RECIPE is a file or a folder. Names of recipes come first.
bool names_a_path(const std::string& recipe) {
  return path_exists(recipe) && std::ranges::count(recipe_names(), recipe) == 0;
}

bool names_recipe(const ResolveRequest& request) {
  return !request.recipe.empty() || std::ranges::any_of(request.files, [](const RecipeFile& file) {
    return file.config.has_value() || !file.recipe.empty();
  });
}

// All texts are one edit, at the position of the last flag.
void add_data(std::vector<Edit>& edits, const std::string& path) {
  UseData use;
  const auto before = std::ranges::find_if(
      edits, [](const Edit& edit) { return std::holds_alternative<UseData>(edit); });
  if (before == edits.end()) {
    use.data = text_of_path(path);
  } else {
    use = std::get<UseData>(*before);
    use.more.push_back(text_of_path(path));
    edits.erase(before);
  }
  edits.emplace_back(std::move(use));
}

// The paths of --data that are no token files.
std::vector<std::string> paths_of_data(const std::vector<Edit>& edits) {
  std::vector<std::string> out;
  for (const Edit& edit : edits) {
    const auto* const use = std::get_if<UseData>(&edit);
    if (!use || use->data == kSyntheticData) continue;
    std::vector<std::string> texts = {use->data};
    texts.insert(texts.end(), use->more.begin(), use->more.end());
    for (const std::string& text : texts) {
      const std::string path = weighted_path(text).path;
      if (!is_token_file(path)) out.push_back(path);
    }
  }
  return out;
}

}  // namespace

void print_changes(const ResolveReport& report) { std::fputs(to_text(report).c_str(), stderr); }

void print_warnings(const ResolveReport& report) {
  for (const std::string& line : report.warnings) report_to_stderr(line);
}

void add_set_to(CLI::App& app, std::vector<Edit>& edits) {
  add_flag(app, "--set", "PATH=VALUE", "Set a field of the config; a class by its name",
           [&edits](const std::string& text) { edits.push_back(parse_set(text)); })
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void RecipeArguments::add_to(CLI::App& app) {
  auto& edits = request_.edits;
  const auto add = [&](const char* flag, const char* value, const char* help,
                       const std::function<void(const std::string&)>& take) {
    return add_flag(app, flag, value, help, take);
  };
  app.add_option("RECIPE", request_.recipe,
                 "Name of a recipe (axle config list), or the folder of a run or a model, unless a "
                 "file names one")
      ->type_name("");
  add("--config", "FILE",
      "Apply the sections recipe, replace, modify, set of a YAML file; '-' is stdin. A file "
      "without recipe: changes RECIPE, or what --init-from goes on training",
      [this](const std::string& path) { files_.push_back(path == "-" ? "/dev/stdin" : path); })
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_set_to(app, edits);
  add("--modify", "MODIFIER", "Apply a modifier: SequenceParallel, 'SetRemat: {at: \"**.layer\"}'",
      [&](const std::string& text) { edits.push_back(UseModifier{text}); })
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add("--lora", "FIELDS", "Train low-rank adapters alone: rank=16,alpha=32 (modifier Lora)",
      [&](const std::string& text) {
        edits.push_back(use_of<Lora>("Lora", "--lora", flag_fields("--lora", text)));
        adapter_flags_.emplace_back("--lora", text);
      });
  add("--qlora", "FIELDS",
      "Train adapters alone, beside weights that are kept as codes: rank=16,bits=8 (modifiers "
      "KeepAsCodes and Lora)",
      [&](const std::string& text) {
        for (UseModifier& use : qlora(text)) edits.push_back(std::move(use));
        adapter_flags_.emplace_back("--qlora", text);
      })
      ->excludes("--lora");
  add("--dpo", "FIELDS",
      "Learn to prefer one of two answers to the start: beta=0.1 (modifier PreferenceTuning)",
      [this](const std::string& text) {
        preference_ = text;
        flag_fields("--dpo", text);  // mistakes are reported while flags are parsed
      });
  add("--mesh", "AXES", "Devices as named axes: data=2,fsdp=2,model=2", [&](const std::string& v) {
    edits.push_back(SetField{"mesh", v});
  });
  add("--steps", "N", "Steps of the whole run", [&](const std::string& v) {
    edits.push_back(SetField{"max_steps", v});
  });
  add("--seed", "N", "Seed of initialisation, dropout and data order", [&](const std::string& v) {
    edits.push_back(SetField{"seed", v});
  });
  add("--data", "PATH",
      "Text, JSON Lines (.gz, .zst), Parquet or conversations: a file, a folder or a pattern; "
      "again for more, read in order; a token file, PREFIX.idx; several of these with weights, "
      "PATH=0.7; or 'synthetic': seeded tokens, no file",
      [&](const std::string& v) { add_data(edits, v); })
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_ignore(app, ignored_);
  add("--on", "TARGET",
      "Machine that mesh rules match: gpu-H100-8, tpu-v5p-512, tpu:v5p:4x8x8, gpu:h100:32x8, cpu:8 "
      "(default: this machine; compile needs one)",
      [this](const std::string& text) { target_ = parse_target(text); });
}

std::string RecipeArguments::machine(std::string_view backend) const {
  return target_ ? target_->machine() : host_machine(backend);
}

void RecipeArguments::check_kept(Trainer::Config& start, const std::string& folder) const {
  for (const auto& [flag, text] : adapter_flags_)
    check_adapters(start, folder, request_of<Lora>(flag, adapter_fields(flag, text)));
}

Trainer::Config RecipeArguments::fine_tune(const ResolveRequest& request,
                                           const std::filesystem::path& model,
                                           const std::optional<DType>& dtype) const {
  Trainer::Config out = axle::fine_tune(
      {model, ignored_}, adds_adapters(request) ? FineTuned::kAdapters : FineTuned::kAll, dtype);
  check_kept(out, model.string());
  return out;
}

// Resolves what begins with the config of a run. A flag or a file that replaces classes may find
// none there, since the run began with it.
Resolved RecipeArguments::resolve_again(const ResolveRequest& request,
                                        const std::string& folder) const {
  const auto fails = [&](const std::vector<RecipeFile>& more, const std::vector<Edit>& edits) {
    ResolveRequest alone{.files = {request.files.front()}, .edits = edits};
    alone.files.insert(alone.files.end(), more.begin(), more.end());
    try {
      resolve_config(alone);
      return false;
    } catch (const ConfigError&) {
      return true;
    }
  };
  try {
    return resolve_config(request);
  } catch (const ConfigError& error) {
    std::vector<std::string> rewriting;
    for (size_t i = 1; i < request.files.size(); ++i) {
      const RecipeFile& file = request.files[i];
      if ((!file.replace.empty() || !file.modify.empty()) && fails({file}, {}))
        rewriting.push_back("--config " + file.source);
    }
    for (const Edit& edit : request.edits) {
      const auto* const use = std::get_if<UseModifier>(&edit);
      if (use && fails({}, {edit}))
        rewriting.push_back(fmt::format("{} '{}'", use->flag, use->text));
    }
    if (rewriting.empty()) throw;
    throw ConfigError(
        fmt::format("{}; if the run in {} began with {}, leave that out: its own config has the "
                    "changes already",
                    error.what(), folder, join(rewriting, " and ")));
  }
}

// The config of the run, which holds what its start was. What flags and files ask for is applied to
// it again, so that a resume refuses what the run is not.
Resolved RecipeArguments::go_on(ResolveRequest request, const RunStart& start) const {
  request.files.insert(request.files.begin(), config_of_run(start.resumed));
  Trainer::Config own = resolve_config({.files = {request.files.front()}}).config;
  const std::string folder = start.resumed.string();
  if (!start.model.empty()) {
    report_to_stderr(
        fmt::format("WARNING: --init-from {}: expected a model, got {}; the run in {} goes on as "
                    "its own config says, and what it began with may be left out",
                    start.model.string(),
                    path_exists(start.model) ? "something else" : nothing_at(start.model), folder));
  }
  check_kept(own, folder);
  if (start.dtype) check_dtype(own, folder, *start.dtype);
  if (preference_) {
    check_preference(own, folder,
                     request_of<PreferenceTuning>("--dpo", flag_fields("--dpo", *preference_)));
  }
  Resolved out = resolve_again(request, folder);
  if (!start.model.empty()) out.report.recipe = fine_tuned_name(start.model);
  return out;
}

Resolved RecipeArguments::resolve(std::string_view backend, const RunStart& start) const {
  const std::filesystem::path& model = start.model;
  ResolveRequest request = this->request(backend, !model.empty());
  Resolved out;
  const bool is_alone = !start.resumed.empty() && !holds_model(model);
  if (is_alone && !names_recipe(request)) {
    out = go_on(std::move(request), start);
  } else {
    if (!model.empty()) take_codes_of(is_alone ? start.resumed : model, request.edits);
    if (!names_recipe(request) && !model.empty()) {
      request.start = fine_tune(request, model, start.dtype);
      request.recipe = fine_tuned_name(model);
    } else if (start.dtype) {
      throw ConfigError(
          "--dtype: expected --init-from and no recipe, whose model has a dtype; set "
          "model.@dtype");
    }
    check_has_start(request);
    out = resolve_config(request);
    if (request.start) take_chat_template(model, out.config);
  }
  print_warnings(out.report);
  return out;
}

// These flags are for a model that there is already, more often than for a recipe.
void RecipeArguments::check_has_start(const ResolveRequest& request) const {
  if (names_recipe(request) || request.start || (!preference_ && adapter_flags_.empty())) return;
  throw ConfigError(fmt::format(
      "{}: expected a model to begin with, got none; name it by axle train --init-from, "
      "or a recipe by RECIPE",
      preference_ ? "--dpo" : adapter_flags_.front().first));
}

ResolveRequest RecipeArguments::request(std::string_view backend) const {
  return request(backend, false);
}

// A recipe that is the path of a model: of another program, or of a run or an import, whose config
// is a whole one.
void RecipeArguments::take_path(ResolveRequest& request) const {
  const std::string path = request.recipe;
  if (is_foreign_model(path)) {
    request.start = fine_tune(request, path);
  } else if (path_exists(config_file_of(path))) {
    request.recipe.clear();
    request.files.insert(request.files.begin(), config_of_run(path));
  } else {
    throw ConfigError(
        fmt::format("RECIPE: expected a name, or the folder of a run or a model, got {} {}{}",
                    directory_exists(path) ? "the folder" : "the file", path,
                    directory_exists(path) ? "" : "; --config takes a file"));
  }
}

void RecipeArguments::check_names_recipe() const {
  const std::string& path = request_.recipe;
  if (!names_a_path(path)) return;
  constexpr std::string_view kExpected =
      "RECIPE: expected the name of a recipe (axle config list), got";
  if (is_foreign_model(path)) {
    throw ConfigError(
        fmt::format("{} the model {}; --init-from {} trains it on", kExpected, path, path));
  }
  const std::filesystem::path config = config_file_of(path);
  if (!path_exists(config)) return;
  throw ConfigError(
      fmt::format("{} the folder of a run or an import, {}; --init-from {} begins with its "
                  "weights, --dir {} goes on with a run, --config {} starts it over",
                  kExpected, path, path, path, config.string()));
}

ResolveRequest RecipeArguments::request(std::string_view backend, bool reads_other_model) const {
  ResolveRequest out = request_;
  for (const std::string& path : files_) out.files.push_back(read_recipe_file(path));
  if (names_a_path(out.recipe)) {
    take_path(out);
    reads_other_model |= out.start.has_value();
  }
  if (!reads_other_model && !ignored_.empty()) {
    throw ConfigError(
        fmt::format("--ignore {}: expected a model of another program, as RECIPE or --init-from, "
                    "got none",
                    ignored_.front()));
  }
  if (preference_) {  // around the model as the others leave it
    out.edits.emplace_back(
        use_of<PreferenceTuning>("PreferenceTuning", "--dpo", flag_fields("--dpo", *preference_)));
  }
  out.machine = machine(backend);
  return out;
}

void RecipeArguments::check_data() const {
  for (const std::string& path : paths_of_data(request_.edits)) {
    if (const std::string none = no_texts_at(path); !none.empty()) {
      throw DataError(
          fmt::format("--data: {}: expected a text file or a folder of them, got {}; leave out "
                      "--data, which this command does not read",
                      path, none));
    }
  }
}

Resolved resolve_named(const std::string& name, const std::optional<std::string>& on) {
  ResolveRequest request{.machine = on ? parse_target(*on).machine() : host_machine()};
  const bool is_folder = directory_exists(name);
  const std::string file = is_folder ? config_file_of(name).string() : name;
  if (path_exists(file)) {
    request.files = {read_recipe_file(file)};
  } else if (is_folder && std::ranges::count(recipe_names(), name) == 0) {
    check_config_file(name);
  } else if (const std::string found = nothing_at(name); !is_folder && found != kNothingThere) {
    throw ConfigError(fmt::format(
        "{}: expected a recipe, a config file or the folder of a run, got {}", name, found));
  } else {
    request.recipe = name;
  }
  Resolved out = resolve_config(request);
  print_warnings(out.report);
  return out;
}

namespace {

using Json = nlohmann::ordered_json;

Json text_or_null(const std::optional<std::string>& text) {
  return text ? Json(*text) : Json(nullptr);
}

}  // namespace

std::string to_text(const ConfigChanges& report) {
  return report.changes.empty() ? "no differences\n" : axle::to_text(report.changes);
}

Json to_json(const ConfigChanges& report) {
  Json changes = Json::object();
  for (const ConfigChange& change : report.changes) {
    changes[change.path] = {{"before", text_or_null(change.before)},
                            {"after", text_or_null(change.after)}};
  }
  return {{"changes", std::move(changes)}};
}

}  // namespace axle::cli
