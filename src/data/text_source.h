// Documents out of plain text files.
#pragma once

#include <deque>
#include <filesystem>
#include <set>

#include "base/text/enum_text.h"
#include "config/fields/required.h"
#include "data/source.h"

namespace axle {

/// What one document is.
enum class DocumentUnit { kFile, kParagraph, kLine };
/// What happens to a document that can't be used.
enum class OnError { kFail, kSkip };

constexpr auto texts_of(DocumentUnit) {
  return std::to_array<EnumText<DocumentUnit>>({{DocumentUnit::kFile, "file"}, {DocumentUnit::kParagraph, "paragraph"}, {DocumentUnit::kLine, "line"}});
}
constexpr auto texts_of(OnError) {
  return std::to_array<EnumText<OnError>>({{OnError::kFail, "fail"}, {OnError::kSkip, "skip"}});
}

/// Whether two paths, which may be spelled in several ways, name the same text.
bool is_same_text(const std::string& a, const std::string& b);

/// Reads a UTF-8 text file, or all *.txt files of a folder and the folders in it, in the order of
/// their paths; what else lies there is counted as skipped, and so is what a link leads to a second
/// time. All text is in memory once it is built: later changes of a file have no effect. Throws
/// Error with kDoesNotFit, before it reads, where the host has no room for all of it.
///
/// A byte order mark is dropped, line ends stay as they are. Throws DataError naming file, line and
/// byte (of the line, from 1) for what is missing, unreadable, empty, not UTF-8, holds NUL bytes or
/// is text for programs and not for people: compressed, lines of JSON.
class TextSource final : public Source {
 public:
  struct Config {
    /// The file or folder.
    Required<std::string> path = REQUIRED;
    /// A file, a paragraph (ended by blank lines) or a line that is not blank.
    DocumentUnit unit = DocumentUnit::kFile;
    /// Whether a bad document ends the program or is left out and counted.
    OnError on_error = OnError::kFail;
    AXLE_CONFIG(TextSource, path, unit, on_error)
  };
  TextSource(const Config& cfg, const Dims& dims, const Scope& scope);

  const std::vector<Document>& documents() const override { return documents_; }
  const Skipped& skipped() const override { return skipped_; }
  int64_t num_files() const override { return static_cast<int64_t>(files_.size()); }

 private:
  void add_folder(const std::filesystem::path& folder, const std::filesystem::path& canonical);
  void add_entry(const std::filesystem::path& path, const std::filesystem::path& canonical);
  std::string bytes_of(const std::string& path) const;
  void read(const std::string& path);
  void add_documents(const std::string& path, std::string_view text);
  void add_document(const std::string& path, int64_t line, std::string_view text);
  void skip(const std::string& reason);
  void refuse(const std::string& reason, const std::string& message);

  DocumentUnit unit_;
  OnError on_error_;
  std::string policy_path_;               // config path of on_error, for messages
  std::set<std::filesystem::path> seen_;  // where links end
  std::vector<std::string> paths_;        // what is to be read, in order
  std::deque<std::string> files_;         // their bytes, which stay where they are
  std::vector<Document> documents_;
  Skipped skipped_;
};

}  // namespace axle
