// What a token file is made of: PREFIX.json beside PREFIX.bin and PREFIX.idx. Token files of other
// programs have none.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/json.h"
#include "data/source.h"
#include "data/tokenizers/tokenizer.h"
#include "io/token_file.h"

namespace axle {

/// A file with its size and SHA-256.
struct HashedFile {
  std::string path;
  int64_t num_bytes = 0;
  std::string sha256 = {};
  int64_t num_documents = 0;  // that came from it
  std::string state = {};     // of a source, as it was read (state_of_file); "": not known
};

/// The tokenizer of a token file.
struct TokenizerCard {
  std::string class_name, path;
  std::string sha256 = {};  // of its file; "": it has none
  uint64_t fingerprint = 0;
  int64_t vocab_size = 0;
  SpecialIds special = {};
};

/// What the flags of a token file say: which of its ids are targets (learned_prefix()).
struct LearnedCard {
  std::string settings = {};       // all that determines them, beside the tokenizer and the files
  std::string chat_template = {};  // text of the template; "": of an earlier version, not kept
  std::vector<std::string> spelled_ends = {};  // of answers, by the template
  int64_t num_learned = 0;                     // ids that are targets
  HashedFile flags = {}, index = {};
};

/// Returns the ids that documents begin and end with, if they are to; without that of padding.
SpecialIds boundary_ids(const SpecialIds& special, bool begins, bool ends);

struct TokenCard {
  static constexpr std::string_view kPairUnit = "pair";
  TokenizerCard tokenizer = {};
  bool begins = true, ends = true;  // documents begin and end with the special ids for it
  std::string field = "text";
  std::string unit = "file";
  int64_t num_documents = 0, num_tokens = 0;
  int64_t text_bytes = 0;   // of all documents
  int64_t piece_bytes = 0;  // that all ids stand for, by the tokenizer's pieces
  HashedFile ids = {}, index = {};
  std::optional<LearnedCard> learned = {};  // none: all ids are targets
  std::vector<HashedFile> sources = {};
  Remarks remarks = {};
  Skipped skipped = {};

  /// True if each two documents are a pair of answers, the better one first.
  bool has_pairs() const { return unit == kPairUnit; }
  /// The ids that documents begin and end with.
  SpecialIds boundaries() const { return boundary_ids(tokenizer.special, begins, ends); }
  /// "a.jsonl, its document 17", counted from 0 without those that were left out.
  std::string source_of(int64_t document) const;
};

// Parts of the card, which other files of builds have too. Reading throws JsonError.
nlohmann::ordered_json to_json(const HashedFile& file);
HashedFile hashed_file_of(const JsonView& json);
nlohmann::ordered_json to_json(const Skipped& skipped);
Skipped skipped_of(const nlohmann::ordered_json& json);
/// Reads a number of 16 hexadecimal digits.
uint64_t hexadecimal(const JsonView& json);

std::string token_card_path(const std::string& prefix);
/// The token file beside that of PREFIX which has a flag for each id: 0 for one that is no target.
std::string learned_prefix(const std::string& prefix);
std::string text_of_card(const TokenCard& card);
/// Returns the card of a token file; none if it has none. Throws DataError if it is damaged.
std::optional<TokenCard> read_token_card(const std::string& prefix);

/// Returns all that determines the ids of a document, beside its text.
std::string encoding_text(const Tokenizer& tokenizer, const SpecialIds& boundaries);

/// Throws DataError unless the tokenizer encodes as that of the card.
void check_encodes_alike(const TokenCard& card, const Tokenizer& tokenizer,
                         const std::string& prefix, std::string_view field);
/// Also unless documents begin and end with the same ids.
void check_tokenizer(const TokenCard& card, const Tokenizer& tokenizer, const std::string& prefix,
                     std::string_view field);

struct BuildProgress {
  uint64_t job = 0;                      // hash of what is to be made
  std::vector<HashedFile> sources = {};  // files that are done
  int64_t num_taken = 0;       // records taken from the next file, also those that were skipped
  std::string next_file = {};  // its state_of_file, if num_taken > 0
  TokenCounts counts = {};
  int64_t text_bytes = 0, piece_bytes = 0;  // text: perhaps below 0 (TextOfIds)
  int64_t num_learned = 0;                  // as of a LearnedCard
  Remarks remarks = {};
  Skipped skipped = {};
};

/// Returns the size of a file and its modification time: what shows that it is the one that a
/// build began with.
std::string state_of_file(const std::string& path);

std::string text_of_progress(const BuildProgress& progress);
/// Returns none if there is no such file. Throws DataError if it is damaged.
std::optional<BuildProgress> read_progress(const std::string& path);

}  // namespace axle
