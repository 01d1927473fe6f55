// Tokenizers for people to look at: what they make of texts, their files, their training, and token
// counts.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "data/source.h"
#include "data/tokenizers/tokenizer.h"
#include "data/tokenizers/training/train_tokenizer.h"

namespace axle {

/// A tokenizer that was read from a file of any kind.
struct NamedTokenizer {
  std::string path, class_name;
  std::unique_ptr<Tokenizer> tokenizer;
};
/// Throws as tokenizer_in_file() does.
NamedTokenizer open_tokenizer(const std::string& path);

struct TokenText {
  int32_t id = 0;
  std::string token;  // its name in the vocabulary
};

struct EncodedText {
  std::vector<TokenText> tokens;
};
/// `with_special`: special tokens that stand in the text become their ids. `framed`: adds the ids
/// that the file puts around a text.
EncodedText encode_text(const Tokenizer& tokenizer, std::string_view text, bool with_special,
                        bool framed);
/// The ids in one line.
std::string to_text(const EncodedText& encoded);
nlohmann::ordered_json to_json(const EncodedText& encoded);

/// Reads ids with spaces, commas or line ends between them, also in brackets, or the JSON of an
/// EncodedText. Throws DataError for other text and for ids outside the vocabulary.
std::vector<int32_t> parse_ids(std::string_view text, const NamedTokenizer& tokenizer);

struct TokenizerFacts {
  std::string path, class_name;
  int64_t vocab_size = 0;
  /// Special ids, with what they are for: "bos".
  std::vector<std::pair<std::string, TokenText>> special = {};
  /// What the file puts around a text.
  std::vector<TokenText> before = {}, behind = {};
  /// What is found in a text by name.
  std::vector<TokenText> added = {};
  uint64_t fingerprint = 0;
};
TokenizerFacts tokenizer_facts(const NamedTokenizer& tokenizer);
std::string to_text(const TokenizerFacts& facts);
nlohmann::ordered_json to_json(const TokenizerFacts& facts);

/// A training whose files are written.
struct TokenizerTrainingReport {
  std::string dir;
  int64_t wanted_size = 0, min_frequency = 0;  // what was asked for
  double max_text_gigabytes = 0;
  TrainedTokenizer trained;
};

/// Writes the files of a tokenizer into a folder, which it makes.
void save_tokenizer(const TrainedTokenizer& trained, const std::string& dir);
/// Throws DataError if one of the files of a tokenizer is there already, StorageError if one can't
/// be written. Call it before the training.
void check_tokenizer_folder(const std::string& dir);

std::string to_text(const TokenizerTrainingReport& report);
nlohmann::ordered_json to_json(const TokenizerTrainingReport& report);
/// One line.
std::string to_text(const TokenizerTrainingProgress& progress, double seconds);

struct TokenCount {
  int64_t num_files = 0, num_documents = 0, num_bytes = 0, num_tokens = 0;
  Skipped skipped = {};
};

/// What is counted.
struct TextsToCount {
  /// Files, folders and patterns, as corpus_files() takes them; "-" is stdin.
  std::vector<std::string> data;
  /// The field of a JSON object, or the column of a table, that holds the text. If it is empty,
  /// that is "text", and stdin plain text; else stdin is JSON Lines or a JSON list.
  std::string field = {};
  OnError on_error = OnError::kFail;
};

/// Counts the tokens of texts without special ids, on all cores. A file of plain text is one
/// document, of which blocks (CorpusReader::next_block) are encoded by themselves. Memory,
/// for any files: that of encoding 4 MiB, or a record if it is larger.
///
/// Throws DataError for what is missing, and for what is refused, unless it is skipped; if no
/// document is left.
TokenCount count_tokens(const Tokenizer& tokenizer, const TextsToCount& texts);
std::string to_text(const TokenCount& count);
nlohmann::ordered_json to_json(const TokenCount& count);

}  // namespace axle
