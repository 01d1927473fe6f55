// Trains a tokenizer of merges on texts, on all cores.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/text.h"
#include "data/source.h"
#include "data/tokenizers/parts/token_model.h"
#include "data/tokenizers/training/merges/merge_learner.h"

namespace axle {

/// What pieces of text begin as: their bytes; or their characters, the rare ones as bytes.
enum class Alphabet { kBytes, kCharacters };
constexpr auto texts_of(Alphabet) {
  return std::to_array<EnumText<Alphabet>>(
      {{Alphabet::kBytes, "bytes"}, {Alphabet::kCharacters, "characters"}});
}

/// What to train.
struct TokenizerTraining {
  /// Files, folders and patterns, as TokenBuild has them.
  std::vector<std::string> sources;
  std::string field = "text";  // of a JSON object, which holds the text
  OnError on_error = OnError::kFail;
  /// Tokens: special tokens, the 256 bytes, characters, and one for each merge.
  int64_t vocab_size = 32000;
  Alphabet alphabet = Alphabet::kBytes;
  /// Share of the text that the characters of the alphabet cover, the frequent ones first.
  double character_coverage = 0.9995;
  /// Of bytes: the pattern that cuts text into pieces; "": llama3. Merges stay
  /// within a piece. Of characters, pieces are words with the space before them, and line ends.
  std::string pattern = {};
  /// Special tokens get the first ids, in this order; then those of `bos`, `eos` and `pad` that are
  /// not among them.
  std::vector<std::string> special = {};
  std::string bos = {}, eos = {}, pad = {};  // "": there is none
  /// Pairs that come less often in the text are not merged.
  int64_t min_frequency = 2;
  /// Text that is read at most, but for the rest of a record. Of a larger corpus, each file
  /// contributes a share in proportion to its bytes, from its beginning. Where a record has
  /// more, the next files contribute less.
  int64_t max_text_bytes = int64_t{4'000'000'000};
};

/// How far a training is.
struct TokenizerTrainingProgress {
  int64_t num_files = 0, num_files_done = 0;
  int64_t text_bytes = 0;
  int64_t num_tokens = 0, vocab_size = 0;  // 0 tokens: text is still being read
};

struct TrainedTokenizer {
  /// tokenizer.json and tokenizer_config.json.
  std::map<std::string, std::string> files = {};
  int64_t vocab_size = 0, num_merges = 0, num_special = 0;
  int64_t num_characters = 0;  // of an alphabet of characters
  int64_t num_files = 0, text_bytes = 0;
  int64_t num_pieces = 0;     // that are different
  int64_t num_tokens = 0;     // that the text has now
  int64_t num_files_cut = 0;  // which had more text than their share of max_text_bytes
  Skipped skipped = {};
};

/// Trains a tokenizer. The result depends on the texts, their order in the files, and on the
/// settings alone: not on the number of threads, nor on the order of the sources.
///
/// Its ids are the same as from Hugging Face's BpeTrainer with this alphabet, as long as no text
/// would become a special token or the name of a byte, which no merge makes here.
///
/// Memory: a batch of text, of 2 MiB for each core and at least 8; and what PieceCounts and
/// MergeLearner take for the different pieces of the text.
///
/// Throws ConfigError with the flag for a vocabulary that is too small, for special tokens that are
/// no texts, and for a pattern of characters; DataError for sources as build_token_file() does, and
/// without a document; Error with kDoesNotFit if the host lacks the memory for the pieces.
TrainedTokenizer train_tokenizer(
    const TokenizerTraining& training,
    const std::function<void(const TokenizerTrainingProgress&)>& report = {});

/// The symbols of an alphabet, which are the first tokens behind the special ones.
class SymbolTable {
 public:
  virtual ~SymbolTable() = default;
  /// The names of the symbols in the order of their ids, of which the first is given.
  virtual std::vector<std::string> names() const = 0;
  /// Appends the ids of a piece. A break, -1, stands where merges end.
  virtual void append_ids(std::string_view piece, std::vector<int32_t>& ids) const = 0;
};

/// The 256 bytes, named as in byte_level.h, in the order of these names.
std::unique_ptr<SymbolTable> byte_symbols(int32_t first_id);
/// The 256 bytes by their names ("<0x0A>"), then the most frequent characters of the pieces, as
/// many as cover that share of all, in the order of their code points. Other characters are breaks.
std::unique_ptr<SymbolTable> character_symbols(int32_t first_id, const PieceCounts& pieces,
                                               double coverage);

/// The pattern of line ends, which are pieces where pieces are made of characters.
inline constexpr std::string_view kLineEnds = "\n+";

/// Returns tokenizer.json and tokenizer_config.json, by their names, for tokens of which the first
/// `num_special` are special.
std::map<std::string, std::string> trained_files(const TokenizerTraining& training,
                                                 int64_t num_special, const MergeLearner& learner);

/// Returns the patterns of a family ("": llama3), each applied to the pieces of the one before.
/// Throws ConfigError "<where>: ..." for an unknown name.
const std::vector<std::string_view>& split_patterns_of(std::string_view family,
                                                       std::string_view where);
std::vector<std::string> split_family_names();

}  // namespace axle
