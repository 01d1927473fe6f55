// Tables for people to read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace axle {

/// Rows of text under a header, padded so that the columns line up.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) { add(std::move(header)); }
  /// Adds a row, which has as many cells as the header.
  void add(std::vector<std::string> row);
  /// Returns one line per row, with two spaces between columns.
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<size_t> widths_;
};

/// Returns the number with commas between groups of three digits: "12,345,678".
std::string grouped_digits(int64_t value);

}  // namespace axle
