#include "base/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text/unicode.h"

namespace axle {

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

namespace {

std::vector<std::string_view> dotted_segments(std::string_view path) {
  std::vector<std::string_view> out;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '[') ++depth;
    if (path[i] == ']') --depth;
    if (path[i] == '.' && depth == 0) {
      out.push_back(path.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  if (!path.empty()) out.push_back(path.substr(begin));
  return out;
}

bool matches_segment(std::string_view pattern, std::string_view s) {
  size_t p = 0, i = 0, star = pattern.npos, resume = 0;
  while (i < s.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = i;
    } else if (p < pattern.size() && pattern[p] == s[i]) {
      ++p, ++i;
    } else if (star != pattern.npos) {
      p = star + 1;
      i = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

using Segments = std::span<const std::string_view>;
// Works like matches_segment: if the rest does not match, the latest `**` takes one more segment.
bool matches_segments(Segments pattern, Segments path) {
  size_t p = 0, i = 0, star = pattern.size(), resume = 0;
  while (i < path.size()) {
    if (p < pattern.size() && pattern[p] == "**") {
      star = p++;
      resume = i;
    } else if (p < pattern.size() && matches_segment(pattern[p], path[i])) {
      ++p, ++i;
    } else if (star != pattern.size()) {
      p = star + 1;
      i = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == "**") ++p;
  return p == pattern.size();
}

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  const size_t width = b.size() + 1;
  std::vector<int> rows(3 * width);
  int *before = rows.data(), *previous = before + width, *current = previous + width;
  for (size_t j = 0; j < width; ++j) previous[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = static_cast<int>(i);
    for (size_t j = 1; j < width; ++j) {
      const int change = a[i - 1] == b[j - 1] ? 0 : 1;
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before[j - 2] + 1);
      }
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

std::string suggest(std::string_view name, std::span<const std::string> candidates) {
  constexpr size_t kMax = 3, kLongest = 100;
  if (name.size() > kLongest) return "";  // longer than any name of ours
  const std::string wanted = lower_case(name);
  int best = std::max(1, static_cast<int>(name.size()) / 3);
  std::vector<std::string> near;
  for (const std::string& candidate : candidates) {
    const std::string c = lower_case(candidate);
    const bool begins = wanted.size() >= 3 && c.starts_with(wanted);
    const int distance = begins ? std::min(1, edit_distance(wanted, c)) : edit_distance(wanted, c);
    if (distance > best) continue;
    if (distance < best) near.clear();
    best = distance;
    if (near.size() < kMax) near.push_back("'" + candidate + "'");
  }
  return near.empty() ? "" : "; did you mean " + join(near, " or ") + "?";
}

bool glob_match(std::string_view pattern, std::string_view path) {
  return matches_segments(dotted_segments(pattern), dotted_segments(path));
}

std::string dotted(std::string path) {
  std::ranges::replace(path, '/', '.');
  return path;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  for (;;) {
    const size_t end = text.find(separator);
    out.push_back(text.substr(0, end));
    if (end == text.npos) return out;
    text.remove_prefix(end + 1);
  }
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += separator;
    out += parts[i];
  }
  return out;
}

bool natural_less(std::string_view a, std::string_view b) {
  const auto digits_of = [](std::string_view text) {
    return text.substr(0, std::min(text.find_first_not_of("0123456789"), text.size()));
  };
  const std::string_view whole_a = a, whole_b = b;
  while (!a.empty() && !b.empty()) {
    std::string_view left = digits_of(a), right = digits_of(b);
    if (left.empty() || right.empty()) {
      if (a[0] != b[0]) return static_cast<unsigned char>(a[0]) < static_cast<unsigned char>(b[0]);
      a.remove_prefix(1), b.remove_prefix(1);
      continue;
    }
    a.remove_prefix(left.size()), b.remove_prefix(right.size());
    left.remove_prefix(std::min(left.find_first_not_of('0'), left.size()));
    right.remove_prefix(std::min(right.find_first_not_of('0'), right.size()));
    if (left.size() != right.size()) return left.size() < right.size();
    if (left != right) return left < right;
  }
  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;  // the same numbers, with other zeros before them
}

bool is_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

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

void fail_no_enum_text(const std::vector<std::string_view>& texts, std::string_view got) {
  std::string expected;
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string_view separator = i == 0 ? "" : i + 1 == texts.size() ? " or " : ", ";
    expected.append(separator).append(texts[i]);
  }
  throw ConfigError(fmt::format("expected {}, got '{}'", expected, printable(got)));
}

}  // namespace axle
