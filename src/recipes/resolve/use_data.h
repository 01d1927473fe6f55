// Sets the data of a recipe, for any class of its input. This is what `--data` does.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "config/carry.h"
#include "config/fields.h"
#include "data/input.h"
#include "data/token_files/token_input.h"
#include "train/config/trainer_config.h"

namespace axle {

/// Replaces `input` by an input of this config. It takes over the fields that both have,
/// except for its `own`.
template <class Config>
void put_input(Child<Input>& input, Config config, const std::vector<std::string>& own) {
  AnyConfig fresh = AnyConfig::of(std::move(config));
  if (input) carry_over(input.any(), fresh, own);
  input.put(std::move(fresh));
}

// Token files and mixtures as the data of a recipe: what `--data PREFIX.idx` and `--data PATH=0.7`
// do.

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
/// weight. Conversations are packed whole, and long ones cut behind an answer;
/// pairs are packed as pairs. Throws ConfigError for a file that is named twice, DataError for one
/// that is not there.
std::optional<NamedMap<TokenSource>> token_sources(const std::vector<std::string>& texts);

/// Makes a TokenInput of a TextInput, a ChatInput or a PreferenceInput, or a TextInput of a
/// TokenInput, with the fields that both have.
/// Throws ConfigError, with `field`, for another input and for one with prompts or streams of
/// positions, which token files have not.
void read_tokens(Child<Input>& input, const NamedMap<TokenSource>& sources,
                 const std::string& field);
void read_texts(Child<Input>& input);

/// Number of batches of an evaluation on synthetic data, which must end.
inline constexpr int64_t kSyntheticEvalBatches = 8;
/// The word that `--data` takes instead of a path, for random tokens made from a seed.
inline constexpr const char* kSyntheticData = "synthetic";

/// True if rows of the input hold pairs of answers: true for a PreferenceInput, and for a
/// TokenInput with such a source.
bool gives_pairs(const Child<Input>& input);

/// Replaces an input by a synthetic one with batches of the same shapes, of `num_batches` batches;
/// none: without end.
/// Rows of pairs of answers remain such.
void make_synthetic(Child<Input>& input, std::optional<int64_t> num_batches);

/// Makes an input of text, conversations or pairs of answers the one that reads what `data` and
/// `more` name (data_kind_at): a TextInput, whose source is a CorpusSource for other files than
/// plain text, a ChatInput or a PreferenceInput, also instead of a TokenInput. Where one of
/// them names a token file or has a weight, a TokenInput without sources replaces a
/// TextInput. A CorpusSource with a field other than "text" stays. Fields of the same name stay.
void suit_input(Child<Input>& input, const std::string& data,
                const std::vector<std::string>& more = {});

/// Returns the paths of all texts, conversations and token files that an input reads.
std::set<std::string> text_paths(ConfigRef input);

/// An edit that sets the training data: to files, folders and patterns of them, to token files
/// or to the word "synthetic".
struct UseData {
  std::string data;
  std::vector<std::string> more = {};  // further paths, read after `data`

  /// Points every TextSource, CorpusSource and ChatSource of the training input at `data`. Also
  /// points evalers at `data` if they name no path or read the same text as the training input;
  /// other evalers keep their text. The word "synthetic" replaces each of these inputs by a
  /// SyntheticInput with the same seq_len and batch_size. Token files make TokenInputs of them;
  /// else suits them to `data` (suit_input). Returns an empty list. Throws ConfigError if the
  /// training input reads no text.
  std::vector<Rewrite> apply_to(Trainer::Config& config) const;
};

}  // namespace axle
