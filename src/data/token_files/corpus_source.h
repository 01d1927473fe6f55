// Documents from files of every format that token files are built from.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "config/axle_config.h"
#include "config/fields/required.h"
#include "data/skip_log.h"
#include "data/source.h"
#include "data/text_source.h"

namespace axle {

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

}  // namespace axle
