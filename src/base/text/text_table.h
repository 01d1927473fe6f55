// Columns for people.
#pragma once

#include <string>
#include <vector>

#include "base/text/units.h"

namespace axle {

/// Rows of texts under a header, padded so that columns line up.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) { add(std::move(header)); }
  /// As many cells as the header has.
  void add(std::vector<std::string> row);
  /// One line a row, two blanks between columns.
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<size_t> widths_;
};

/// "12,345,678".
std::string grouped_digits(int64_t value);

}  // namespace axle
