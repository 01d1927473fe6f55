// The documents of files that may be larger than the memory, one at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/config_type.h"
#include "config/fields.h"
#include "data/data_file.h"
#include "data/source.h"
#include "data/text_source.h"
#include "io/file_reader.h"
#include "io/parquet/parquet_texts.h"

namespace axle {

/// How a file is read.
struct CorpusFormat {
  std::string field = "text";               // of a table, the column that holds the text
  DocumentUnit unit = DocumentUnit::kFile;  // of plain text
  /// Refuses what a TextSource refuses: JSON Lines, compressed files, files of blanks.
  bool only_plain_text = false;
  /// A text file that is one document is read in parts of at most this many bytes. They end at a
  /// line end, or at a character in lines that are longer. None: as a whole.
  std::optional<int64_t> part_bytes = {};
};

/// Reads plain text, or records (JsonRecords) if the path names some; either may be compressed by
/// gzip or zstd. Reads a table if the path ends in .parquet. Lines and paragraphs of
/// blanks are no documents; a blank file is one. Memory: one document, of at most
/// kMaxDocumentBytes, or a part; also a JSON list, and for a table what ParquetTexts takes.
class CorpusReader {
 public:
  static constexpr size_t kMaxDocumentBytes = size_t{256} << 20;
  /// Raise it with every change of what is refused, or of what a document is: kept tokens of files
  /// that were read by other rules are then made again.
  static constexpr int kRules = 5;

  /// Throws StorageError if the file can't be read, NotText if it is of a known format of bytes, or
  /// a table without the field. Throws DataError if nothing here reads tables.
  CorpusReader(const std::string& path, const CorpusFormat& format);
  /// Reads a stream of plain text, or of records, instead. `name` is for messages.
  CorpusReader(std::string name, std::unique_ptr<ByteStream> stream, bool is_json,
               const CorpusFormat& format);
  /// True if its documents are records, which text_of_document() reads.
  bool is_json() const { return is_json_; }
  /// Returns the next document; none at the end. Throws StorageError for a damaged file and for a
  /// document that is too large.
  std::optional<RawDocument> next();
  /// As next(), but of a text file that is one document it returns blocks, of `block_bytes` and the
  /// lines up to the next point where a pattern that cuts text into pieces has a cut in any case:
  /// between two lines, with no white space on either side of the line end. Where there is no such
  /// point in a megabyte, a block ends with any line. Not for a format with `part_bytes`.
  std::optional<RawDocument> next_block(size_t block_bytes);

 private:
  bool is_read_in_parts() const;
  std::optional<RawDocument> next_row();
  std::optional<RawDocument> next_line();
  std::optional<RawDocument> next_paragraph();
  std::optional<RawDocument> whole_file();
  std::optional<RawDocument> next_part();
  void check_size(const RawDocument& document) const;

  std::string path_;
  CorpusFormat format_;
  bool is_json_;
  bool is_read_ = false;                // the file as a whole, to its end
  std::unique_ptr<ParquetTexts> rows_;  // of a table
  std::optional<JsonRecords> records_;
  std::optional<LineReader> lines_;  // of texts, unless they are read in parts
  // Of a file that is read in parts: text behind those taken, and the line at which it begins.
  std::unique_ptr<ByteStream> stream_;
  std::string rest_ = {};
  int64_t rest_line_ = 1;
  bool has_begun_ = false;
  std::string first_line_ = {};  // of the next block
};

/// Returns how many bytes of a text, which has more than `limit` of them, are a part of at most so
/// many: up to a line end, or to a character where there is none. `limit` is at least 4, the bytes
/// of the longest character.
size_t size_of_part(std::string_view text, size_t limit);

/// Returns the text of a document: of a record, the field, or the record itself if it is a text.
/// Throws JsonError.
std::string text_of_document(RawDocument document, bool is_json, std::string_view field);

/// Reads plain text, JSON Lines (*.jsonl, *.ndjson, *.json; one document a line) and Parquet (one
/// document a row), also compressed by gzip or zstd, and all such files in folders and their
/// subfolders in the order of their paths. Counts other files as skipped.
///
/// A TextInput encodes them once into a token file and never holds the text. Where it needs the
/// text itself, for prompts or streams of positions, all of it is read into memory. Throws Error
/// with kDoesNotFit then if the host lacks the memory.
///
/// Throws DataError "<file>:<line>: expected ..., got ..." for a document without a text.
class CorpusSource final : public Source {
 public:
  struct Config {
    /// The file, a folder of files, or a pattern of their names: "corpus/*.jsonl.zst".
    Required<std::string> path = REQUIRED;
    /// More files, folders and patterns, read after `path` in this order.
    std::vector<std::string> more_paths = {};
    /// The field of a JSON object, or the column of a table, that holds the text.
    std::string field = "text";
    /// One document of plain text is a file, a paragraph (ended by blank lines) or a line that is
    /// not blank.
    DocumentUnit unit = DocumentUnit::kFile;
    /// What a bad document does: `fail` ends the program, `skip` leaves the document out and counts
    /// it.
    OnError on_error = OnError::kFail;
    AXLE_CONFIG(CorpusSource, path, more_paths, field, unit, on_error)
  };
  CorpusSource(const Config& cfg, const Dims& dims, const Scope& scope);

  const std::vector<Document>& documents() const override { return documents_; }
  const Skipped& skipped() const override { return skips_.skipped(); }
  int64_t num_files() const override { return num_files_; }

 private:
  void read(const std::string& path, const Config& cfg);

  SkipLog skips_;
  std::deque<std::string> texts_;  // documents point into them
  std::vector<Document> documents_;
  int64_t num_files_ = 0, num_bytes_ = 0, num_priced_bytes_ = 0;
};

/// Returns "a: expected texts, got no document", with what was left out.
std::string no_document(std::span<const std::string> sources, const Skipped& skipped);

/// Returns the files that paths, folders and patterns name, of text and JSON Lines. Counts what it
/// leaves out of folders. Throws DataError with `field` for a name of nothing, and no_document() if
/// there is no file.
std::vector<std::string> corpus_files(std::span<const std::string> sources, std::string_view field,
                                      SkipLog& skips);
/// Returns the bytes of each file; 0 where the system does not say.
std::vector<int64_t> sizes_of_files(std::span<const std::string> files);

/// The text of a document, or why there is none.
struct CorpusText {
  std::string text = {};
  std::string reason = {};          // empty: there is a text
  std::string where = {};           // "file:line"
  std::string message = {};         // of a refusal; without one, what is left out is only counted
  bool begins = true, ends = true;  // as of the RawDocument
};
/// `field` holds the text of a JSON object. A blank text is left out. Refuses text that is not
/// UTF-8 and text with NUL bytes.
CorpusText corpus_text(const std::string& path, RawDocument document, bool is_json,
                       std::string_view field);
/// Counts a document without a text. Throws DataError if it is refused and may not be skipped.
void leave_out(const CorpusText& document, SkipLog& skips);

/// Calls read(), which reads from a file. Returns false if that can't be read, or not on, and may
/// be skipped; throws DataError if it may not. What read() has taken before is the caller's.
bool read_or_leave_out(const std::string& path, SkipLog& skips, const std::function<void()>& read);

}  // namespace axle
