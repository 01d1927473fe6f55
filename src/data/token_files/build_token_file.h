// Makes a token file from texts: reads, encodes on all cores, writes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/fields/child.h"
#include "data/skip_log.h"
#include "data/text_source.h"
#include "data/token_files/token_card.h"

namespace axle {

/// What to make.
struct TokenBuild {
  /// Files, folders and patterns: plain text, or JSON Lines (*.jsonl, *.ndjson, *.json), either
  /// perhaps compressed (.gz, .zst), or Parquet.
  std::vector<std::string> sources;
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

/// How far a build is.
struct TokenBuildProgress {
  int64_t num_files = 0, num_files_done = 0;
  int64_t num_bytes = 0, num_bytes_done = 0;  // of the files; done: of whole files
  int64_t num_documents = 0, num_tokens = 0, text_bytes = 0;
};

struct TokenBuildHooks {
  /// True ends the build after it has saved what is done. Called between batches.
  std::function<bool()> should_stop = {};
  /// Called after each batch.
  std::function<void(const TokenBuildProgress&)> report = {};
};

struct TokenBuildResult {
  TokenCard card = {};
  bool is_finished = false;   // else it was stopped, and the same call continues
  bool was_there = false;     // the token file of the same build was there already
  int64_t num_documents = 0;  // that are done
  int64_t num_continued = 0;  // of them: of an earlier, unfinished build
};

/// Builds PREFIX.bin, PREFIX.idx and PREFIX.json. Until all is done, the parts lie in the folder
/// PREFIX.part; what was saved there is continued by the same build after any end of the process,
/// with the same bytes as a build without a stop.
///
/// Memory, whatever the corpus: `batch_bytes` of text, or one document (CorpusReader) if it is
/// larger, with its ids: about batch_bytes * (1 + Tokenizer::encode_bytes().of_text). A larger
/// document is priced before it is encoded: throws Error with kDoesNotFit if the host lacks the
/// memory.
///
/// Throws DataError for sources that are missing, and for documents that are no text, unless they
/// are skipped; if no document is left; if a source changes between two parts of a build; for
/// PREFIX.part of another build, and for other files at PREFIX.
TokenBuildResult build_token_file(const TokenBuild& build, const TokenBuildHooks& hooks = {});

}  // namespace axle
