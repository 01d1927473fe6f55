// The documents of files that may be larger than the memory, one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "data/json_records.h"
#include "data/text_source.h"
#include "io/byte_stream.h"
#include "io/line_reader.h"
#include "io/parquet/parquet_texts.h"

namespace axle {

/// How a file is read.
struct CorpusFormat {
  std::string field = "text";               // of a table, the column that holds the text
  DocumentUnit unit = DocumentUnit::kFile;  // of plain text
  /// Refuses what a TextSource refuses: JSON Lines, compressed files, files of blanks.
  bool only_plain_text = false;
  /// A text file that is one document is read in parts of at most so many bytes. They end at a line
  /// end, or at a character in lines that are longer. None: as a whole.
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
  /// that were read by other rules are then made anew.
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
  /// lines up to the next place where a pattern that cuts text into pieces has a cut in any case:
  /// between two lines, with no white space on either side of the line end. Where there is no such
  /// place in a megabyte, a block ends with any line. Not for a format with `part_bytes`.
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

}  // namespace axle
