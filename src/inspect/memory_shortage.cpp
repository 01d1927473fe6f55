#include "inspect/memory_shortage.h"

#include <array>
#include <cmath>
#include <cstdlib>

#include "base/regex.h"

namespace axle {
namespace {

// Sizes are what the program needs, in parts that add up, and last what the device has.
struct Phrasing {
  Regex sentence;
  std::string of;
};

Regex sentence(std::string_view text) {
  static constexpr std::string_view kSize = R"(([0-9]+(?:\.[0-9]+)?[KMGTPE]?)(?:i?B)?)";
  std::string pattern(text);
  for (size_t at = 0; (at = pattern.find("SIZE", at)) != pattern.npos; at += kSize.size())
    pattern.replace(at, 4, kSize);
  return Regex(pattern);
}

const std::array<Phrasing, 4>& phrasings() {
  static const std::array<Phrasing, 4> all = {
      {{sentence(R"(required for HLO temporaries \(SIZE\) exceeds available HBM \(SIZE\))"),
        "temporaries"},
       {sentence(R"(Used SIZE of SIZE hbm)"), ""},
       {sentence(R"(Requires SIZE, has SIZE available)"), ""},
       {sentence(R"(TensorCore Hbm usage: SIZE, SparseCore Hbm usage:? SIZE, )"
                 R"(exceeding available bytes: SIZE)"),
        ""}}};
  return all;
}

// "15.75G": units are powers of 1024.
double bytes_of(const std::string& size) {
  constexpr std::string_view kUnits = "KMGTPE";
  const size_t unit = kUnits.find(size.back());
  return std::strtod(size.c_str(), nullptr) * std::pow(1024, unit == kUnits.npos ? 0 : unit + 1);
}

}  // namespace

std::optional<MemoryShortage> read_memory_shortage(std::string_view refusal) {
  for (const Phrasing& phrasing : phrasings()) {
    const auto sizes = phrasing.sentence.search(refusal);
    if (!sizes) continue;
    double needed = 0;
    for (size_t i = 1; i + 1 < sizes->size(); ++i) needed += bytes_of((*sizes)[i]);
    const double available = bytes_of(sizes->back());
    constexpr double kMost = 0x1p62;
    if (needed > kMost || needed <= available) return std::nullopt;
    return MemoryShortage{std::llround(needed), std::llround(available), phrasing.of};
  }
  return std::nullopt;
}

}  // namespace axle
