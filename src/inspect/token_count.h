// How many tokens texts have.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "data/skip_log.h"
#include "data/tokenizers/tokenizer.h"

namespace axle {

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
/// whatever the files: that of encoding 4 MiB, or a record if it is larger.
///
/// Throws DataError for what is missing, and for what is refused, unless it is skipped; if no
/// document is left.
TokenCount count_tokens(const Tokenizer& tokenizer, const TextsToCount& texts);
std::string to_text(const TokenCount& count);
nlohmann::ordered_json to_json(const TokenCount& count);

}  // namespace axle
