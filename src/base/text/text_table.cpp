#include "base/text/text_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace axle {

void TextTable::add(std::vector<std::string> row) {
  widths_.resize(rows_.empty() ? row.size() : widths_.size());
  AXLE_CHECK(row.size() == widths_.size(), "a row has as many cells as the header");
  for (size_t i = 0; i < row.size(); ++i) widths_[i] = std::max(widths_[i], row[i].size());
  rows_.push_back(std::move(row));
}

std::string TextTable::text() const {
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths_[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string grouped_digits(int64_t value) {
  std::string digits = fmt::format("{}", value);
  const size_t first = value < 0 ? 1 : 0;
  for (size_t i = digits.size(); i > first + 3;) digits.insert(i -= 3, ",");
  return digits;
}

}  // namespace axle
