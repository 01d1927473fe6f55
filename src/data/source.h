// The role Source: the origin of documents.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace axle {

/// A text that belongs together. A model never attends from one document to another.
struct Document {
  std::string_view text;  // valid UTF-8, not empty; lives as long as the source
  std::string where;      // "file:line" of the beginning
};

/// What was left out, shown to the user: documents that can't be used and files that are not text.
struct Skipped {
  int64_t count = 0;
  std::map<std::string, int64_t> reasons = {};  // "not UTF-8" -> number of documents
  /// The first names of each reason: of files, or "file:line" of documents.
  std::map<std::string, std::vector<std::string>> names = {};
  std::vector<std::string> messages = {};  // messages of the first hundred documents
};
/// Writes "3 skipped (2 not *.txt: a.md, b.csv; 1 not UTF-8: c.txt)"; "" if nothing was skipped.
std::string to_text(const Skipped& skipped);

/// A fixed sequence of documents: the same files give the same documents in the same order.
class Source {
 public:
  using Role = Source;
  struct Dims {};
  virtual ~Source() = default;
  virtual const std::vector<Document>& documents() const = 0;
  virtual const Skipped& skipped() const = 0;
  /// Returns the number of files that documents were read from.
  virtual int64_t num_files() const { return 0; }
};

}  // namespace axle
