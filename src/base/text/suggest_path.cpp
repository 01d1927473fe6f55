#include "base/text/suggest_path.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/text/text.h"

namespace axle {
namespace {

using PathSegments = std::vector<std::string_view>;
/// Half letters that differ, then segments that the path lacks.
using Difference = std::pair<int, int>;

PathSegments segments_of(std::string_view path) {
  PathSegments out = split(path, '/');
  std::erase(out, std::string_view());
  return out;
}

// Returns the segment without a number at its end: "layer" for "layer0" and "layer[0]".
std::string_view stem(std::string_view segment) {
  const auto drop = [&](auto is) {
    while (!segment.empty() && is(segment.back())) segment.remove_suffix(1);
  };
  drop([](char c) { return c == ']'; });
  drop([](char c) { return '0' <= c && c <= '9'; });
  drop([](char c) { return c == '['; });
  return segment;
}

// Returns the half letters that differ between two segments; none if they are too different. Other
// numbers are nearer than other letters.
std::optional<int> half_letters(std::string_view wanted, std::string_view segment) {
  const int distance = edit_distance(wanted, segment);
  if (distance > 0 && stem(wanted) == stem(segment)) return 1;
  if (wanted.size() >= 3 && segment.starts_with(wanted)) return std::min(2, 2 * distance);
  const auto limit = std::max<size_t>(1, wanted.size() / 2);
  if (distance > static_cast<int>(limit)) return std::nullopt;
  return 2 * distance;
}

// Returns the least difference over all ways to pair the segments in order, with the last ones
// paired; none if there is no way.
std::optional<Difference> difference(const PathSegments& wanted, const PathSegments& candidate) {
  const size_t width = candidate.size() + 1;
  // least[i * width + j]: of the first i and j segments, the i-th and j-th paired or left out.
  std::vector<std::optional<Difference>> least((wanted.size() + 1) * width);
  least[0] = {0, 0};
  const auto improve = [&](std::optional<Difference>& at, const std::optional<Difference>& from,
                           int letters, int segments) {
    if (!from) return;
    const Difference sum{from->first + letters, from->second + segments};
    if (!at || sum < *at) at = sum;
  };
  for (size_t i = 0; i <= wanted.size(); ++i) {
    for (size_t j = 0; j <= candidate.size(); ++j) {
      auto& at = least[i * width + j];
      const bool is_last = i == wanted.size() && j == candidate.size();
      if (i > 0 && j > 0) {
        if (const auto letters = half_letters(wanted[i - 1], candidate[j - 1]))
          improve(at, least[(i - 1) * width + j - 1], *letters, 0);
      }
      if (is_last) break;
      if (i > 0)
        improve(at, least[(i - 1) * width + j], 2 * static_cast<int>(wanted[i - 1].size()), 0);
      if (j > 0) improve(at, least[i * width + j - 1], 0, 1);
    }
  }
  return least.back();
}

}  // namespace

std::string suggest_path(std::string_view path, std::span<const std::string> candidates) {
  constexpr size_t kMax = 3, kLongest = 400;
  if (path.size() > kLongest) return "";  // longer than any path of ours
  const std::string lower = lower_case(path);
  const PathSegments wanted = segments_of(lower);
  if (wanted.empty()) return "";
  Difference best{2 * std::max(1, static_cast<int>(path.size()) / 3), static_cast<int>(kLongest)};
  std::vector<std::string> near;
  for (const std::string& candidate : candidates) {
    const std::string c = lower_case(candidate);
    const auto found = difference(wanted, segments_of(c));
    if (!found || *found > best) continue;
    if (*found < best) near.clear();
    best = *found;
    if (near.size() < kMax) near.push_back("'" + candidate + "'");
  }
  return near.empty() ? "" : "; did you mean " + join(near, " or ") + "?";
}

}  // namespace axle
