// Makes a token file from the records of files: reads, encodes on all cores, writes. What a build
// has done is kept, so that it can be continued.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/fields.h"
#include "data/source.h"
#include "data/token_files/corpus_reader.h"
#include "data/token_files/token_card.h"
#include "data/tokenizers/tokenizer.h"

namespace axle {

/// A document as it goes into a token file.
struct EncodedDocument {
  std::vector<int32_t> ids = {};
  std::vector<uint8_t> is_learned = {};  // a flag for each id, in token files that have such
  int64_t text_bytes = 0, piece_bytes = 0;
};

/// What a record yields, or why it yields nothing.
struct EncodedRecord {
  std::vector<EncodedDocument> documents = {};
  std::string reason = {};   // "": it yields documents
  std::string where = {};    // "file:line"
  std::string message = {};  // of a refusal; without one, what is left out is only counted
  bool is_unfit = false;     // it was read, but can't be used: TokenWork::on_unfit
  Remarks remarks = {};
};

/// The records of one file, one at a time.
class RecordReader {
 public:
  virtual ~RecordReader() = default;
  /// Returns the next record; none at the end. Throws StorageError and NotText.
  virtual std::optional<RawDocument> next() = 0;
  /// Usable from several threads.
  virtual EncodedRecord encode(RawDocument record) const = 0;
};

/// What the records of a kind become.
class TokenMaker {
 public:
  virtual ~TokenMaker() = default;
  virtual const Tokenizer& tokenizer() const = 0;
  /// Returns the files that paths, folders and patterns name. Counts what it leaves out of folders.
  virtual std::vector<std::string> files(const std::vector<std::string>& sources,
                                         SkipLog& skips) const = 0;
  /// Throws StorageError and NotText.
  virtual std::unique_ptr<RecordReader> open(const std::string& path) const = 0;
  /// Returns all that determines the documents, beside the tokenizer and the files.
  virtual std::string job() const = 0;
  /// Returns a card that says what the documents are. With `learned`, they have flags.
  virtual TokenCard card() const = 0;
  /// Returns what is wrong if no record has given a document.
  virtual std::string nothing(const Skipped& skipped) const = 0;
};

/// What every build of a token file states.
struct TokenWork {
  std::vector<std::string> sources;  // files, folders and patterns
  Child<Tokenizer> tokenizer;
  std::string tokenizer_path = {};  // "": the tokenizer has no file
  std::string prefix;               // of the token file
  /// What records do that can't be read, and those that can't be used. The fields are what messages
  /// call the policies.
  OnError on_error = OnError::kFail, on_unfit = OnError::kFail;
  std::string on_error_field = "--on-error", on_unfit_field = "--on-error";
  /// Bytes of records that are read before they are encoded together.
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

/// Makes PREFIX.bin, PREFIX.idx and PREFIX.json, and with flags also the token file
/// learned_prefix(PREFIX). Until all is done, the parts lie in the folder PREFIX.part; what was
/// saved there is continued by the same build after any end of the process, with the same bytes as
/// a build without a stop.
///
/// Memory, for any files: `batch_bytes` of records, or one record if it is larger, with its
/// ids: about batch_bytes * (1 + Tokenizer::encode_bytes().of_text).
///
/// Throws DataError for sources that are missing, and for records that are refused, unless they are
/// skipped; if no document is left; if a source has changed since a part of the build, or all of
/// it, was made; for PREFIX.part of another build, and for other files at PREFIX.
TokenBuildResult make_token_file(const TokenWork& work, const TokenMaker& maker,
                                 const TokenBuildHooks& hooks = {});

}  // namespace axle
