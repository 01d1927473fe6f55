#include "plan/memory_shortage.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "base/text/regex.h"
#include "base/text/text.h"
#include "hlo/op_name.h"

namespace axle {
namespace {

// One way in which compilers phrase a shortage. The last size in the sentence is what the device
// has; the sizes before it add up to what the program needs.
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

// Reads a size such as "15.75G". The units are powers of 1024.
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
    constexpr double kMax = 0x1p62;
    if (needed > kMax || needed <= available) return std::nullopt;
    return MemoryShortage{std::llround(needed), std::llround(available), phrasing.of};
  }
  return std::nullopt;
}

namespace {

// Returns the text between `start` and `end`, or up to the end of the line if `end` is empty. None
// if the line does not begin with `start`.
std::optional<std::string_view> between(std::string_view line, std::string_view start,
                                        std::string_view end) {
  if (!line.starts_with(start)) return std::nullopt;
  line.remove_prefix(start.size());
  return line.substr(0, end.empty() ? line.size() : line.find(end));
}

// Reads the bytes from a line such as "12. Size: 4.00G"; none for other lines.
std::optional<int64_t> listed_size(std::string_view line) {
  const size_t dot = line.find_first_not_of("0123456789");
  if (dot == 0 || dot == line.npos) return std::nullopt;
  const auto size = between(line.substr(dot), ". Size: ", "");
  if (!size || size->empty()) return std::nullopt;
  return std::llround(bytes_of(std::string(*size)));
}

}  // namespace

std::vector<TemporaryBuffer> read_largest_buffers(std::string_view details) {
  std::vector<TemporaryBuffer> out;
  for (std::string_view line : split(details, '\n')) {
    line = trim(line);
    if (const auto size = listed_size(line)) out.push_back({.count = 1, .bytes = *size});
    if (out.empty()) continue;
    TemporaryBuffer& last = out.back();
    if (const auto name = between(line, "Operator: op_name=\"", "\"")) {
      const auto locations = op_locations(*name);
      last.layer = layer_text(locations);
      last.op = op_text(locations);
      last.backward = std::ranges::any_of(locations, &OpLocation::backward);
    }
    if (const auto shape = between(line, "Shape: ", "{")) last.shape = *shape;
    if (const auto label = between(line, "XLA label: ", " ="); label && last.op.empty())
      last.op = *label;
  }
  return out;
}

}  // namespace axle
