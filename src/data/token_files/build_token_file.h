// Makes a token file from texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/fields.h"
#include "data/source.h"
#include "data/text_source.h"
#include "data/token_files/make_token_file.h"

namespace axle {

/// What to make.
struct TokenBuild {
  /// Files, folders and patterns: plain text, or JSON Lines (*.jsonl, *.ndjson, *.json), either
  /// perhaps compressed (.gz, .zst), or Parquet.
  std::vector<std::string> sources;
  std::string sources_field = "SOURCES";  // what messages call them
  Child<Tokenizer> tokenizer;
  std::string tokenizer_path = {};          // "": the tokenizer has no file
  std::string prefix;                       // of the token file
  std::string field = "text";               // of a JSON object or a table, which holds the text
  DocumentUnit unit = DocumentUnit::kFile;  // of plain text
  /// The special ids that begin and end a document stand around it, as far as there are such.
  bool begins = true, ends = true;
  OnError on_error = OnError::kFail;
  std::string on_error_field = "--on-error";  // what messages call it
  /// Reads and parts files as CorpusFormat says.
  bool only_plain_text = false;
  std::optional<int64_t> part_bytes = {};
  /// Text that is read before it is encoded together.
  int64_t batch_bytes = int64_t{4} << 20;
  /// Seconds between two saves.
  double save_secs = 10;
};

/// Builds PREFIX.bin, PREFIX.idx and PREFIX.json, as make_token_file() does: it can be continued.
///
/// A document that is larger than `batch_bytes` is priced before it is encoded: throws Error with
/// kDoesNotFit if the host lacks the memory.
///
/// Throws DataError as make_token_file() does, for documents that are no text as well.
TokenBuildResult build_token_file(const TokenBuild& build, const TokenBuildHooks& hooks = {});

}  // namespace axle
