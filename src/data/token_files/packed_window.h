// The rows of a window of documents, in little memory.
#pragma once

#include <cstdint>
#include <vector>

#include "data/row_parts.h"

namespace axle {

/// What PackedRows says of at most 65,536 documents, in two bytes for each part and four for each
/// row: how many positions a part has follows from the lengths of its row's documents.
class PackedWindow {
 public:
  static constexpr int64_t kMostDocuments = 65536;

  PackedWindow() = default;
  explicit PackedWindow(const PackedRows& rows);

  /// A document of the window, and its first position in a row.
  struct Part {
    int64_t document = 0;
    int32_t from = 0;
  };
  std::vector<Part> row(int64_t i) const;
  int64_t num_bytes() const;

 private:
  struct Cut {
    uint32_t part = 0;
    int32_t from = 0;
  };
  std::vector<uint32_t> begins_;  // of rows in documents_, then the end
  std::vector<uint16_t> documents_;
  std::vector<Cut> cuts_;  // of parts that do not begin their document, in order
};

}  // namespace axle
