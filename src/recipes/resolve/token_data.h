// Token files and mixtures as the data of a recipe: what `--data PREFIX.idx` and `--data PATH=0.7`
// do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/token_files/token_input.h"

namespace axle {

/// A path of `--data`, perhaps with the weight of its source: "web.idx=0.7".
struct WeightedPath {
  std::string path;
  std::optional<double> weight = {};
};
/// A text that is itself the name of something has no weight.
WeightedPath weighted_path(const std::string& text);

/// True if a text of `--data` names a token file or a weight.
bool are_token_sources(const std::vector<std::string>& texts);

/// Returns the sources that the texts of `--data` name; none if no text names a token file or a
/// weight. Those of conversations are packed whole, and long ones cut behind an answer; those of
/// pairs as pairs. Throws ConfigError for a file that is named twice, DataError for one that is not
/// there.
std::optional<NamedMap<TokenSource>> token_sources(const std::vector<std::string>& texts);

/// Makes a TokenInput of a TextInput, a ChatInput or a PreferenceInput, or a TextInput of a
/// TokenInput, with the fields that both have.
/// Throws ConfigError, with `field`, for another input and for one with prompts or streams of
/// positions, which token files have not.
void read_tokens(Child<Input>& input, const NamedMap<TokenSource>& sources,
                 const std::string& field);
void read_texts(Child<Input>& input);

}  // namespace axle
