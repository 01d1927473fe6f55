// The range of a number in a config.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace axle {

/// How a leaf is written in JSON; kText is a string whose syntax its type defines.
enum class LeafKind : uint8_t { kBool, kInteger, kNumber, kString, kText };

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
std::string range_text(const Bounds& bounds, LeafKind kind);

}  // namespace axle
