// Token files that runs make once from files, in the user's cache folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/process_start.h"
#include "config/fields.h"
#include "data/input.h"
#include "data/source.h"
#include "data/text_source.h"
#include "data/token_files/make_token_file.h"

namespace axle {

/// The path of the tokens of some files in user_cache_folder()/tokens. Tokens of the files as they
/// were before are removed when new ones are made.
class TokenCache {
 public:
  /// `what` is all that determines the tokens, beside the content of the files. `where` is the
  /// config path of the input, for messages; `otherwise` ends the message about a missing folder.
  /// Throws ConfigError if there is no cache folder.
  TokenCache(const std::string& what, const std::vector<std::string>& files, std::string where,
             const std::string& otherwise);

  /// PREFIX of the token file.
  std::string prefix() const { return folder_ / state_; }
  const std::filesystem::path& folder() const { return folder_; }
  /// Calls make() unless the card of the token file is there. One process makes it; others that
  /// want the same one wait, and say so.
  void ensure(const std::function<void()>& make) const;

 private:
  void remove_others() const;

  std::string where_, state_;
  std::filesystem::path folder_;
};

struct MadeTokens {
  std::string prefix;
  Skipped skipped = {};  // files that were not read
};

/// The config paths of an input and of its source, for messages.
struct MadeFor {
  std::string input, source;
  bool has_memory = false;  // the input may hold its files in memory

  /// What else to do than to keep tokens of files of `num_bytes`, behind a message; "": nothing.
  std::string or_in_memory(int64_t num_bytes) const;
};

/// Counts, instead of the token file, the files that it was made of, and what of them is not
/// in it.
void add_made(const MadeTokens& made, InputFacts& facts);

/// Lines on stderr: one at the beginning, one every half minute, one at the end.
class EncodingReport {
 public:
  /// `what` is what the files hold: "text". `where` is the config path of the input.
  EncodingReport(std::string where, std::string what, const TokenCache& cache, int64_t num_bytes)
      : where_(std::move(where)), what_(std::move(what)), cache_(cache), num_bytes_(num_bytes) {}
  void add(const TokenBuildProgress& progress);
  void end() const;

 private:
  std::string where_, what_;
  const TokenCache& cache_;
  int64_t num_bytes_;
  Clock::time_point start_ = Clock::now();
  int num_reports_ = 0;
};

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
