// Numbers within ranges, as text and in JSON.
#pragma once

#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace axle {

/// The range of a number: from min to max. An open end is excluded. NaN and infinity are never in
/// range.
struct Bounds {
  double min = std::numeric_limits<double>::lowest();
  double max = std::numeric_limits<double>::max();
  bool open_min = false, open_max = false;

  constexpr bool has_min() const { return min != Bounds{}.min; }
  constexpr bool has_max() const { return max != Bounds{}.max; }
  constexpr bool contain(double v) const {
    return (open_min ? v > min : v >= min) && (open_max ? v < max : v <= max);
  }
};
/// Returns the range in words: "an integer of at least 1", "a number above 0", "a number of at
/// least 0 and below 1"; without bounds "an integer" or "a finite number".
std::string range_text(const Bounds& bounds, bool is_integer);

/// True for zero and for values in the range of normal f32 numbers. Layers and learners compute in
/// f32 at most, where any other value would become zero or infinite.
bool fits_device(double v);
inline constexpr std::string_view kFitsDevice = "a number that fits into 32 bits";

/// Returns "" for a number in range that fits the device, if it is no integer. Else returns what is
/// expected instead: range_text() or kFitsDevice.
std::string expected_instead(double v, const Bounds& bounds, bool is_integer);

/// True if `text` is written as a number, even one that is out of range or "nan".
bool is_number_text(std::string_view text);

/// Converts a bool or a number. Numbers have the shortest text that reads back to the same value:
/// "1e-06", "4.0". NaN and infinities have texts for messages only. Floating-point numbers that do
/// not fit the device are refused, even as a double.
template <class N>
struct NumberCodec {
  static std::string text(N v);
  /// Both throw ConfigError "expected ..., got ...". In JSON, a string holds the text of a number.
  static N parse(std::string_view text, const Bounds& bounds = {});
  static N read(const nlohmann::ordered_json& value, const Bounds& bounds = {});
  static void write(N v, nlohmann::ordered_json& out);
};

}  // namespace axle
