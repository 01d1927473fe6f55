// The documents of files that may be larger than the memory, one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "data/text_source.h"
#include "io/line_reader.h"

namespace axle {

/// A document as it stands in its file: text, or a JSON object with a text in it.
struct RawDocument {
  std::string bytes;
  int64_t line = 1;  // at which it begins
};

/// A file of another format, perhaps one that others read.
struct NotText : DataError {
  using DataError::DataError;
};

/// Reads plain text, or JSON Lines if the path ends in .jsonl, .ndjson or .json; either may be
/// compressed by gzip or zstd. Lines and paragraphs of blanks are no documents; a blank file is
/// one. Memory: one document, of at most kMaxDocumentBytes.
class CorpusReader {
 public:
  static constexpr size_t kMaxDocumentBytes = size_t{256} << 20;

  /// Throws StorageError if the file can't be read, NotText if it is of a known format of
  /// bytes.
  CorpusReader(const std::string& path, DocumentUnit unit);
  bool is_json() const { return is_json_; }
  /// Returns the next document; none at the end. Throws StorageError for a damaged file and for a
  /// document that is too large.
  std::optional<RawDocument> next();

 private:
  std::optional<RawDocument> next_line();
  std::optional<RawDocument> next_paragraph();
  std::optional<RawDocument> whole_file();
  void check_size(const RawDocument& document) const;

  std::string path_;
  DocumentUnit unit_;
  bool is_json_;
  bool is_read_ = false;  // the file as a whole
  LineReader lines_;
};

/// Returns the text of a document: of a JSON object, the field. Throws JsonError.
std::string text_of_document(RawDocument document, bool is_json, std::string_view field);

}  // namespace axle
