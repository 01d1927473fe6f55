// The conversations of files, one at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/chat/chat_layout.h"
#include "data/json_records.h"
#include "data/skip_log.h"
#include "io/parquet/parquet_texts.h"

namespace axle {

/// Returns the files of conversations that files and folders name. Counts what it leaves out.
std::vector<std::string> chat_files(const std::vector<std::string>& named, SkipLog& skips);

/// Reads JSON Lines, a file with one JSON list, or Parquet, as ChatSource says. Memory: what
/// JsonRecords or ParquetTexts takes.
class ChatReader {
 public:
  /// Raise it with every change of what a conversation is, or of how it is rendered: kept tokens
  /// are then made anew.
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

}  // namespace axle
