#include "recipes/resolve/check_recipe.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "config/missing.h"
#include "data/chat/preference_input.h"
#include "data/data_kind.h"
#include "data/synthetic_input.h"
#include "data/token_files/token_input.h"
#include "layers/models/preference_lm.h"
#include "recipes/resolve/use_data.h"

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

}  // namespace axle
