// How the records of files become the documents of a token file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/skip_log.h"
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

/// What a record gives, or why it gives nothing.
struct EncodedRecord {
  std::vector<EncodedDocument> documents = {};
  std::string reason = {};   // "": it gives documents
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

}  // namespace axle
