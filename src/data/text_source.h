// Documents from plain text files.
#pragma once

#include <array>
#include <deque>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/file_format.h"
#include "base/text/text.h"
#include "config/config_type.h"
#include "config/fields.h"
#include "data/source.h"

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

/// The endings of files with documents. Beside texts, *.json files describe them.
inline constexpr auto kDocumentEndings =
    std::to_array<std::string_view>({".txt", ".jsonl", ".ndjson", ".parquet", ".json"});
inline constexpr auto kTextEndings = std::span(kDocumentEndings).first<4>();
inline constexpr auto kRecordEndings = std::span(kDocumentEndings).subspan<1>();

/// Returns the ending that shows the format, in lower case and without a compression's ending:
/// ".jsonl" of "corpus.JSONL.gz".
std::string format_ending(const std::filesystem::path& path);

/// Refuses a folder that is named beside other paths and has no file of these patterns: what a user
/// names counts.
void refuse_folder(const std::string& path, std::string_view patterns, SkipLog& skips);

/// Refuses a link to nothing. Returns false if `path` is none.
bool refuse_broken_link(const std::filesystem::path& path, SkipLog& skips);

/// Returns the files of `named`, files and folders. Of a folder and its subfolders, all files with
/// one of the endings, in the order of their paths. Counts other files as skipped, hidden ones, and
/// those named or linked a second time. Links to nothing are refused.
std::vector<std::string> source_files(std::span<const std::string> named,
                                      std::span<const std::string_view> endings, SkipLog& skips);

/// What counts as one document.
enum class DocumentUnit { kFile, kParagraph, kLine };
constexpr auto texts_of(DocumentUnit) {
  return std::to_array<EnumText<DocumentUnit>>({{DocumentUnit::kFile, "file"},
                                                {DocumentUnit::kParagraph, "paragraph"},
                                                {DocumentUnit::kLine, "line"}});
}

/// True if two paths, possibly spelled differently, name the same file.
bool is_same_file(const std::string& a, const std::string& b);

/// Returns the files and folders that a path of a config names: itself, or all that match it if it
/// is a pattern such as "corpus/*.txt", in the order of their names. Throws DataError, with `field`
/// to set, if there is nothing.
std::vector<std::string> named_texts(const std::string& path, std::string_view field);
/// The same of the fields `path` and `more_paths` of a source, whose config path is `source`.
std::vector<std::string> named_texts(const std::string& path,
                                     const std::vector<std::string>& more_paths,
                                     std::string_view source);
/// Returns what is there instead of texts: "nothing there", "a pattern that matches no file", an
/// unfinished build of a token file, or the system's reason not to let this user look. Empty if
/// named_texts(path) finds something.
std::string no_texts_at(const std::string& path);

/// Reads UTF-8 text files, and all *.txt files in folders and their subfolders in the order of
/// their paths. Counts other files as skipped, and also files that are named or linked a second
/// time. All text is read into memory at construction: later changes of a file have no effect.
/// Throws Error with kDoesNotFit before it reads if the host lacks the memory.
///
/// A byte order mark is dropped; line ends stay as they are. Throws DataError with file, line and
/// byte (counted within the line, from 1) for text that is missing, unreadable, empty, not UTF-8 or
/// with NUL bytes, and for data formats instead of text: compressed files, lines of JSON.
class TextSource final : public Source {
 public:
  struct Config {
    /// The text file, a folder of text files, or a pattern of their names: "corpus/*.txt".
    Required<std::string> path = REQUIRED;
    /// More files, folders and patterns, read after `path` in this order.
    std::vector<std::string> more_paths = {};
    /// One document is a file, a paragraph (ended by blank lines) or a line that is not blank.
    DocumentUnit unit = DocumentUnit::kFile;
    /// What a bad document does: `fail` ends the program, `skip` leaves the document out and counts
    /// it.
    OnError on_error = OnError::kFail;
    AXLE_CONFIG(TextSource, path, more_paths, unit, on_error)
  };
  TextSource(const Config& cfg, const Dims& dims, const Scope& scope);

  const std::vector<Document>& documents() const override { return documents_; }
  const Skipped& skipped() const override { return skips_.skipped(); }
  int64_t num_files() const override { return std::ssize(files_); }

 private:
  std::string bytes_of(const std::string& path) const;
  void read(const std::string& path);
  void add_documents(const std::string& path, std::string_view text);
  void add_document(const std::string& path, int64_t line, std::string_view text);
  void refuse(const std::string& reason, const std::string& name, const std::string& message);

  DocumentUnit unit_;
  OnError on_error_;
  SkipLog skips_;
  bool is_only_document_ = false;  // one file is one document: skipping it leaves none
  std::deque<std::string> files_;  // contents of the files; documents point into them
  std::vector<Document> documents_;
};

}  // namespace axle
