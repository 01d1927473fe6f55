// Files of data: their kinds, told from names and first bytes, and their fingerprints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "io/file_reader.h"

namespace axle {

/// What a path names, as far as the names of files and the first record show.
enum class DataKind {
  kUnknown,        // none of these, also if nothing is there
  kText,           // plain text (TextSource)
  kCorpus,         // texts in records or tables, or compressed (CorpusSource)
  kConversations,  // ChatSource
  kPreferences,    // pairs of answers (ChatSource)
};
/// Looks at a file, at the files in a folder, or at those that match a pattern. Among texts, one
/// that is compressed or in records makes them a corpus; conversations beside texts are left out.
DataKind data_kind_at(const std::string& path);
/// What paths hold together: `kind` and what follows it.
DataKind joined_kind(DataKind kind, DataKind other);
/// Throws DataError where a path holds nothing that could have a kind: nothing is there, a file
/// can't be read, or there is no record. `field` is the config path to set.
void check_has_record(const std::string& path, std::string_view field);
/// Throws DataError, with what to do, if all of these files hold conversations or pairs of answers
/// without the field that texts are read from.
void check_are_texts(std::span<const std::string> files, std::string_view field,
                     std::string_view advice);

/// Returns the bytes of the file. Throws DataError naming the file and `field`, the config path to
/// set, if it is missing; also if it can't be read, is too large for a vocabulary, or is of a known
/// format (base/text/file_format.h) other than `expected`, such as "a SentencePiece model".
std::string read_data_file(const std::string& path, std::string_view field,
                           std::string_view expected);
/// As read_data_file(), also of a pipe (read_stream), for a file that is read once. `format` is the
/// known format that is taken, `expected` what errors say.
std::string read_data_stream(const std::string& path, std::string_view field,
                             std::string_view expected, std::string_view format);

/// A document as it stands in its file: text, or a JSON value with a text in it.
struct RawDocument {
  std::string bytes;
  bool is_missing = false;          // a row of a table has no text
  int64_t line = 1;                 // at which it begins, or the row
  bool begins = true, ends = true;  // false: it is a part behind another one, or before
};

/// A file of another format, perhaps one that others read.
struct NotText : DataError {
  explicit NotText(const std::string& message, std::string why = "no text")
      : DataError(message), reason(std::move(why)) {}
  std::string reason;  // as a SkipLog counts it
};

/// Takes documents from next(bytes that are wanted yet) until they have `num_bytes`, or are as many
/// as may lie in memory at once. Returns none at the end.
template <class Next>
std::vector<RawDocument> next_documents(const Next& next, int64_t num_bytes) {
  constexpr size_t kMostDocuments = 65536;
  std::vector<RawDocument> out;
  for (int64_t bytes = 0; bytes < num_bytes && out.size() < kMostDocuments;) {
    auto document = next(num_bytes - bytes);
    if (!document) break;
    bytes += std::ssize(document->bytes);
    out.push_back(std::move(*document));
  }
  return out;
}

/// True if the ending of a path, without that of a compression, is .jsonl, .ndjson or .json.
bool names_records(const std::string& path);

/// Reads JSON Lines, or a file that is one JSON list, also over several lines, whose elements are
/// the records. Either may be compressed. Memory: a line, or the list.
class JsonRecords {
 public:
  /// Throws StorageError for a file that can't be read, for a list of more than kMaxJsonBytes and
  /// for a line of more than `max_line_bytes`. Throws NotText, with the reason `if_none`, for a
  /// damaged list and for a *.json file with another value that is not in one line.
  JsonRecords(const std::string& path, const char* if_none,
              size_t max_line_bytes = LineReader::kMaxLineBytes)
      : JsonRecords(path, LineReader(path, max_line_bytes), if_none) {}
  /// The same of a stream; `path` is for messages.
  JsonRecords(const std::string& path, LineReader lines, const char* if_none);
  /// Returns the next record, with its line or its number in the list; none at the end. Lines of
  /// blanks are no records. Throws StorageError for a damaged file.
  std::optional<RawDocument> next();

 private:
  void read_list(const char* if_none);
  std::optional<RawDocument> next_line();

  std::string path_;
  LineReader lines_;
  std::optional<RawDocument> first_;  // line that was read, but not returned
  std::optional<nlohmann::ordered_json> list_;
  size_t next_ = 0;  // of the list
};

}  // namespace axle
