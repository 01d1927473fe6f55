#include "recipes/resolve/resolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "base/version.h"
#include "checkpoint/folder.h"
#include "config/print.h"
#include "config/serialize.h"
#include "config/set.h"
#include "config/walk.h"
#include "data/tokenizers/hugging_face/hugging_face_tokenizer.h"
#include "data/tokenizers/ranks/ranks_tokenizer.h"
#include "data/tokenizers/sentencepiece_tokenizer.h"
#include "interop/tokenizer_files.h"
#include "io/file.h"
#include "recipes/recipe.h"
#include "train/config/trainer_config.h"
#include "train/folder/run_folder.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

// Sets the mesh rules that files and edits name. Returns true if there are any. Rules are set
// before everything else.
bool set_rules(const std::vector<RecipeFile>& files, const std::vector<Edit>& edits,
               Trainer::Config& config, ResolveReport& report, Mistakes& mistakes) {
  bool any = false;
  const auto attempt = [&](auto set_one) {
    mistakes.attempt([&] { std::ranges::move(set_one(), std::back_inserter(report.rewrites)); });
    any = true;
  };
  for (const RecipeFile& file : files) {
    for (const RecipeFileEntry& entry : file.set)
      if (sets_mesh_rules(entry.key)) attempt([&] { return set_entry(entry, config); });
  }
  for (const Edit& edit : edits) {
    const auto* field = std::get_if<SetField>(&edit);
    if (field && sets_mesh_rules(field->path))
      attempt([&] { return set(config, field->path, field->text); });
  }
  return any;
}

void apply_rules(Trainer::Config& config, ResolveReport& report) {
  const MeshRules rules = config.mesh_rules;  // those that were there before
  AppliedRule applied = apply_mesh_rules(rules, report.machine, config);
  report.mesh_rule = std::move(applied.machine);
  std::ranges::move(applied.rewrites, std::back_inserter(report.rewrites));
  if (!report.mesh_rule.empty()) return;
  for (const MeshRule& rule : rules) report.unmatched_rules.push_back(rule.machine);
}

// Returns the first rule that matches `machine`, if it would change the config; else empty. A whole
// config was made with its rules applied, so that they are not applied again.
std::string rule_that_would_change(const Trainer::Config& config, const std::string& machine) {
  for (const MeshRule& rule : config.mesh_rules) {
    Trainer::Config changed = config;
    MeshRule again = rule;  // what it has replaced before is not there anymore
    for (Child<Modifier>& modifier : again.modifiers) modifier.options.allow_none = true;
    try {
      if (apply_mesh_rules({again}, machine, changed).machine.empty()) continue;
    } catch (const ConfigError&) {  // the rule does not fit this config
      return rule.machine;
    }
    return to_string(changed) == to_string(config) ? "" : rule.machine;
  }
  return {};
}

std::string rules_text(const Trainer::Config& config) {
  return to_json(config).at("mesh_rules").dump();
}

// A run keeps copies of its tokenizer's files beside its config.
Trainer::Config whole_tree(Json document, const std::string& source, ResolveReport& report,
                           Mistakes& mistakes) {
  const std::filesystem::path folder = std::filesystem::path(source).parent_path();
  resolve_tokenizer_paths(document, folder);
  take_kept_tokenizers(document, folder,
                       [&](const std::string& line) { report.warnings.push_back(line); });
  Trainer::Config config;
  try {
    from_json(config, document);
  } catch (const ConfigError& error) {
    mistakes.add(with_location(source, error.what()));
  }
  return config;
}

void apply_edits(const std::vector<Edit>& edits, Trainer::Config& config,
                 std::vector<Rewrite>& rewrites, Mistakes& mistakes) {
  for (const Edit& edit : edits) {
    mistakes.attempt([&] {
      const auto apply = [&](const auto& e) { return e.apply_to(config); };
      std::ranges::move(std::visit(apply, edit), std::back_inserter(rewrites));
    });
  }
}

// Later changes may be such that earlier rewrites do not suit them. Other mistakes come first.
void check_rewrites(const std::vector<Rewrite>& rewrites, Trainer::Config& config,
                    Mistakes& mistakes) {
  if (mistakes.size() > 0) return;
  for (const Rewrite& rewrite : rewrites) {
    if (rewrite.check) mistakes.attempt([&] { rewrite.check(config); });
  }
}

Json tokenizer_of(const Child<Input>& input) {
  const Json fields = input ? to_json(input) : Json();
  return fields.is_object() && fields.contains("tokenizer") ? fields["tokenizer"] : Json();
}

// Evalers have the run's tokenizer. In a whole config they name it themselves; where an edit sets
// another one for the run than `before`, they take it as well.
void move_tokenizers(const Json& before, Trainer::Config& config) {
  const Json now = tokenizer_of(config.input);
  if (before.is_null() || now.is_null() || now == before) return;
  for (auto& [name, evaler] : config.evalers) {
    if (tokenizer_of(evaler.input) != before) continue;
    Json fields = to_json(evaler.input);
    fields["tokenizer"] = now;
    from_json(evaler.input, fields);
  }
}

// A folder stands for the file of a tokenizer in it, as it does in flags.
template <class T>
void take_file_in(const char* name, Trainer::Config& config) {
  for_each_config<T>(config, [&](const std::string&, typename T::Config& tokenizer) {
    if (!tokenizer.path.has_value()) return;
    const std::filesystem::path folder = path_of_text(*tokenizer.path);
    if (path_exists(folder / name)) tokenizer.path = text_of_path((folder / name).string());
  });
}

void take_tokenizer_files(Trainer::Config& config) {
  take_file_in<HuggingFaceTokenizer>("tokenizer.json", config);
  take_file_in<SentencePieceTokenizer>("tokenizer.model", config);
  take_file_in<TekkenTokenizer>("tekken.json", config);
}

// --data names all texts. A path that is set beside it would replace the first alone.
void check_texts(const std::vector<Edit>& edits) {
  const auto names_several = [](const Edit& edit) {
    const auto* const use = std::get_if<UseData>(&edit);
    return use && !use->more.empty();
  };
  const auto sets_path = [](const Edit& edit) {
    const auto* const field = std::get_if<SetField>(&edit);
    return field && field->path == "input.source.path";
  };
  if (std::ranges::none_of(edits, names_several) || std::ranges::none_of(edits, sets_path)) return;
  throw ConfigError(
      "--set input.source.path: expected no --data with several texts beside it, got some; name "
      "all texts by --data");
}

}  // namespace

std::vector<Rewrite> SetField::apply_to(Trainer::Config& config) const {
  if (sets_mesh_rules(path)) return {};  // set before the rules were applied
  return set(config, path, text);
}

Resolved resolve_config(const ResolveRequest& request) {
  Mistakes mistakes;
  Resolved out = resolve_config(request, mistakes);
  mistakes.throw_any();
  return out;
}

Resolved resolve_config(const ResolveRequest& request, Mistakes& mistakes) {
  Resolved out{.config = {},
               .report = {.recipe = request.recipe, .machine = request.machine, .mesh_rule = {}}};
  const RecipeFile* tree = nullptr;
  for (const RecipeFile& file : request.files) {
    std::string& named = out.report.recipe;
    if (!named.empty() && !file.recipe.empty() && file.recipe != named) {
      throw ConfigError(
          fmt::format("{}: recipe: expected '{}', which is named already, got '{}'; "
                      "name one of them",
                      file.source, named, file.recipe));
    }
    if (named.empty()) named = file.recipe;
    if (!file.config) continue;
    if (tree) {
      throw ConfigError(fmt::format("{}: expected one whole config, got another one in {}",
                                    file.source, tree->source));
    }
    tree = &file;
  }
  if (tree && !out.report.recipe.empty()) {
    throw ConfigError(
        fmt::format("{}: expected no recipe beside a file with a whole config, got '{}'",
                    tree->source, out.report.recipe));
  }
  if (tree) {
    out.config = whole_tree(*tree->config, tree->source, out.report, mistakes);
  } else if (request.start) {
    out.config = *request.start;
  } else if (out.report.recipe.empty()) {
    throw ConfigError(fmt::format("RECIPE: expected one of {}, or a file with 'recipe:', got none",
                                  join(product_recipe_names(), ", ")));
  } else {
    out.config = recipe(out.report.recipe);
  }
  const size_t num_before = mistakes.size();
  const bool sets = set_rules(request.files, request.edits, out.config, out.report, mistakes);
  const bool are_whole = mistakes.size() == num_before;  // half of a rule is none
  if ((sets || !tree) && are_whole)
    mistakes.attempt([&] { apply_rules(out.config, out.report); });
  else if (!sets)
    out.report.rule_not_reapplied = rule_that_would_change(out.config, request.machine);
  const std::string rules = rules_text(out.config);
  const Json tokenizer = tokenizer_of(out.config.input);
  for (const RecipeFile& file : request.files) apply(file, out.config, out.report, mistakes);
  if (rules_text(out.config) != rules)
    out.report.rule_set_too_late = rule_that_would_change(out.config, request.machine);
  mistakes.attempt([&] { check_texts(request.edits); });
  apply_edits(request.edits, out.config, out.report.rewrites, mistakes);
  take_tokenizer_files(out.config);
  mistakes.attempt([&] { move_tokenizers(tokenizer, out.config); });
  mistakes.attempt([&] { complete_evaler_inputs(out.config); });
  check_rewrites(out.report.rewrites, out.config, mistakes);
  return out;
}

std::vector<Rewrite> apply_edits(const std::vector<Edit>& edits, Trainer::Config& config) {
  Mistakes mistakes;
  std::vector<Rewrite> rewrites;
  apply_edits(edits, config, rewrites, mistakes);
  mistakes.throw_any();
  return rewrites;
}

std::string to_config_file(const std::string& recipe, const Trainer::Config& config) {
  return fmt::format("# axle {}, recipe {}\n{}", version(), recipe, to_yaml(config));
}

RecipeFile config_of_run(const std::filesystem::path& run) {
  const std::string file = config_file_of(run).string(), kept = newest_config(run);
  return kept.empty() ? read_recipe_file(file) : parse_recipe_file(kept, file);
}

void take_kept_tokenizers(Resolved& resolved, const std::filesystem::path& run) {
  const nlohmann::ordered_json before = to_json(resolved.config);
  nlohmann::ordered_json after = before;
  take_kept_tokenizers(after, run, [&](const std::string& line) {
    if (std::ranges::count(resolved.report.warnings, line) == 0) report_to_stderr(line);
  });
  if (after != before) from_json(resolved.config, after);
}

}  // namespace axle
