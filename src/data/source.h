// The role Source: where documents come from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/child.h"

namespace axle {

/// Text that belongs together: a model never looks from one document into another.
struct Document {
  std::string_view text;  // valid UTF-8, not empty; lives as long as its source
  std::string where;      // "file:line" of its beginning
};

/// What was left out, for the user to see.
struct Skipped {
  int64_t count = 0;
  std::vector<std::string> messages = {};  // one a document, the first hundred
};

/// A fixed sequence of documents: the same files give the same documents in the same order.
class Source {
 public:
  using Role = Source;
  struct Dims {};
  virtual ~Source() = default;
  virtual const std::vector<Document>& documents() const = 0;
  virtual const Skipped& skipped() const = 0;
};

}  // namespace axle
