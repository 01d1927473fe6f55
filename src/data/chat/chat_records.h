// The conversations of files, one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "data/chat/conversation.h"
#include "data/skip_log.h"

namespace axle {

/// Reads JSON Lines, files with one JSON list, and Parquet, as ChatSource says. Memory: a record,
/// or the list of a file, or what ParquetTexts takes.
class ChatRecords {
 public:
  /// Takes a conversation in the form that conversation_of() reads, and its place.
  using Take = std::function<void(std::string conversation, std::string where)>;

  /// Lists the files. `skips` counts what is left out, here and in read(), and must outlive this.
  /// Throws DataError for names of nothing.
  ChatRecords(const std::vector<std::string>& named, ChatFormat format, SkipLog& skips);
  const std::vector<std::string>& files() const { return files_; }
  /// Throws DataError for what is no conversation, unless it is counted.
  void read(const std::string& file, const Take& take);

 private:
  void read_lines(const std::string& path, const Take& take);
  void read_list(const std::string& path, const Take& take);
  void read_rows(const std::string& path, const Take& take);
  void add_text(std::string_view json, const std::string& where, const Take& take);
  void add(const nlohmann::ordered_json& record, const std::string& where, const Take& take);

  ChatFormat format_;
  SkipLog& skips_;
  std::vector<std::string> files_;
};

}  // namespace axle
