// Documents from plain text files.
#pragma once

#include <deque>

#include "base/text/enum_text.h"
#include "config/axle_config.h"
#include "config/fields/required.h"
#include "data/skip_log.h"
#include "data/source.h"

namespace axle {

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
/// Returns what is there in place of texts: "nothing there", "a pattern that matches no file", an
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
  int64_t num_files() const override { return static_cast<int64_t>(files_.size()); }

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
