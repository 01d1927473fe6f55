// The records of JSON files, one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "data/raw_document.h"
#include "io/line_reader.h"

namespace axle {

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
