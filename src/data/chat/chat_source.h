// Conversations from JSON files and tables.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config_type.h"
#include "config/fields.h"
#include "data/chat/chat_layout.h"
#include "data/data_file.h"
#include "data/source.h"
#include "io/parquet/parquet_texts.h"

namespace axle {

/// Returns the files of conversations that files and folders name. Counts what it leaves out.
std::vector<std::string> chat_files(const std::vector<std::string>& named, SkipLog& skips);

/// Reads JSON Lines, a file with one JSON list, or Parquet, as ChatSource says. Memory: what
/// JsonRecords or ParquetTexts takes.
class ChatReader {
 public:
  /// Raise it with every change of what a conversation is, or of how it is rendered: kept tokens
  /// are then made again.
  static constexpr int kRules = 8;

  /// Throws StorageError for a file that can't be read, NotText for one that holds no conversation
  /// at all.
  explicit ChatReader(const std::string& path);
  /// Returns the next record, with its line or its number in the list; none at the end. Throws
  /// StorageError for a damaged file.
  std::optional<RawDocument> next();

 private:
  std::optional<JsonRecords> records_;
  std::unique_ptr<ParquetTexts> rows_;  // of a table
};

/// Returns the conversation of a record, in the form that conversation_of() reads. Throws JsonError
/// for what is none.
std::string conversation_in(const RawDocument& record, ChatFormat format);

/// Reads JSON Lines, one conversation a line, files with one JSON list of conversations, which may
/// be compressed by gzip or zstd, and Parquet, one conversation a row. In a folder and its
/// subfolders, reads all *.jsonl, *.ndjson and *.json, also with .gz or .zst behind that, and
/// *.parquet, in the order of their paths. Counts other files as skipped. All conversations are
/// read into memory at construction. Throws Error with kDoesNotFit if the host lacks the memory.
///
/// A document is one conversation in the form that conversation_of() reads; its location is the
/// file with the line, or with the number in the list or of the row, from 1.
///
/// Throws DataError "<file>:<line>: expected ..., got ..." for what is no conversation.
class ChatSource final : public Source {
 public:
  struct Config {
    /// The file of conversations, a folder of such files, or a pattern of their names.
    Required<std::string> path = REQUIRED;
    /// More files, folders and patterns, read after `path` in this order.
    std::vector<std::string> more_paths = {};
    /// How files lay out a conversation. `auto`: the fields of each record decide.
    ChatFormat format = ChatFormat::kAuto;
    /// What a bad conversation does: `fail` ends the program, `skip` leaves it out and counts it.
    OnError on_error = OnError::kFail;
    AXLE_CONFIG(ChatSource, path, more_paths, format, on_error)
  };
  ChatSource(const Config& cfg, const Dims& dims, const Scope& scope);

  const std::vector<Document>& documents() const override { return documents_; }
  const Skipped& skipped() const override { return skips_.skipped(); }
  int64_t num_files() const override { return num_files_; }

 private:
  void add(std::string conversation, std::string where);

  SkipLog skips_;
  std::deque<std::string> texts_;  // documents point into them
  std::vector<Document> documents_;
  int64_t num_files_ = 0;
  int64_t num_bytes_ = 0, num_priced_bytes_ = 0;
};

}  // namespace axle
