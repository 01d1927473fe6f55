// The role Source: where documents come from.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/fields/child.h"

namespace axle {

/// Text that belongs together: a model never looks from one document into another.
struct Document {
  std::string_view text;  // valid UTF-8, not empty; lives as long as its source
  std::string where;      // "file:line" of its beginning
};

/// What was left out, for the user to see: documents that can't be used and files that are no text.
struct Skipped {
  int64_t count = 0;
  std::map<std::string, int64_t> reasons = {};  // "not UTF-8" -> how often
  std::vector<std::string> messages = {};       // of documents, the first hundred
};
/// "3 skipped (2 not *.txt, 1 not UTF-8)"; empty where nothing was.
std::string to_text(const Skipped& skipped);

/// A fixed sequence of documents: the same files give the same documents in the same order.
class Source {
 public:
  using Role = Source;
  struct Dims {};
  virtual ~Source() = default;
  virtual const std::vector<Document>& documents() const = 0;
  virtual const Skipped& skipped() const = 0;
  /// Files that documents were read from.
  virtual int64_t num_files() const { return 0; }
};

}  // namespace axle
