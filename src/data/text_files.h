// The plain text files that the paths of a config name.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/file_format.h"
#include "data/skip_log.h"

namespace axle {

/// Files of text, and all *.txt files in folders and their subfolders in the order of their paths.
/// Counts other files as skipped, and also files that are named or linked a second time.
class TextFiles {
 public:
  /// Throws DataError for a folder that can't be read and for a link to nothing, unless `skips`
  /// counts them.
  TextFiles(std::span<const std::string> named, SkipLog& skips);
  const std::vector<std::string>& paths() const { return paths_; }
  /// Ignores files that cannot be read: reading them reports the error.
  int64_t num_bytes() const;

 private:
  void skip_repeat(const std::string& path);
  void add_named(const std::string& path);
  void add_folder(const std::filesystem::path& folder, const std::filesystem::path& canonical);
  void add_entry(const std::filesystem::path& path, const std::filesystem::path& canonical);

  SkipLog& skips_;
  std::set<std::filesystem::path> seen_;  // canonical paths found so far; detects repeats by links
  std::vector<std::string> paths_;        // the files to read, in order
  size_t num_repeats_ = 0;
};

/// Why a file is refused as text for people, as a SkipLog counts it.
struct NoPlainText {
  std::string reason;   // "empty", or the format
  std::string message;  // with the path and what to do
};
/// Looks at the beginning of a file, behind a byte order mark. A file of which it is all may not be
/// blank.
std::optional<NoPlainText> why_no_plain_text(const std::string& path, std::string_view begin,
                                             bool is_all);

/// Returns what to do with a file of this format, which was to be data; none: of no known one.
std::string advice_on_data(const FileFormat* format);

/// True for a beginning of JSON Lines, or of a list of objects. One line of JSON may begin a text;
/// two of them, or a file with nothing else, are a data set.
bool hold_json_lines(std::string_view begin);
/// What to do with such a file of another name.
inline constexpr std::string_view kNamesOfRecords =
    "--data reads JSON Lines from files named *.jsonl, *.ndjson or *.json";

/// True for text of white space alone.
bool is_blank(std::string_view text);
/// Cuts the next line, including its line end, off `rest`.
std::string_view take_line(std::string_view& rest);

inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace axle
