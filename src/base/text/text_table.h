// Numbers and tables as people read them.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
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

/// Returns a size such as "1.5 GiB".
std::string bytes_text(double bytes);
template <std::integral T>
std::string bytes_text(T bytes) {
  return bytes_text(static_cast<double>(bytes));
}
/// Returns the noun, with an "s" unless the count is one: "byte", "bytes".
std::string plural(int64_t count, std::string_view noun);
/// Returns the count with the noun: "1 byte", "2 bytes".
std::string counted(int64_t count, std::string_view noun);
/// Returns a time such as "1.500 s", "1.5 ms" or "1.5 us".
std::string seconds_text(double seconds);
/// Returns a longer time, rounded to seconds: "1h02m", "3m20s" or "12s".
std::string duration_text(double seconds);

}  // namespace axle
