// Numbers as people read them.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace axle {

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
