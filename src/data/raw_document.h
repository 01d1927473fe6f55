// Documents as they stand in their files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace axle {

/// A document as it stands in its file: text, or a JSON value with a text in it.
struct RawDocument {
  std::string bytes;
  bool is_missing = false;          // a row of a table has no text
  int64_t line = 1;                 // at which it begins, or the row
  bool begins = true, ends = true;  // false: it is a part behind another one, or before
};

/// A file of another format, perhaps one that others read.
struct NotText : DataError {
  explicit NotText(const std::string& message, std::string why = "no text")
      : DataError(message), reason(std::move(why)) {}
  std::string reason;  // as a SkipLog counts it
};

/// Takes documents from next(bytes that are wanted yet) until they have `num_bytes`, or are as many
/// as may lie in memory at once. Returns none at the end.
template <class Next>
std::vector<RawDocument> next_documents(const Next& next, int64_t num_bytes) {
  constexpr size_t kMostDocuments = 65536;
  std::vector<RawDocument> out;
  for (int64_t bytes = 0; bytes < num_bytes && out.size() < kMostDocuments;) {
    auto document = next(num_bytes - bytes);
    if (!document) break;
    bytes += static_cast<int64_t>(document->bytes.size());
    out.push_back(std::move(*document));
  }
  return out;
}

}  // namespace axle
