#include "data/tokenizers/parts/chars_map.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/text/unicode.h"

namespace axle {
namespace {

static_assert(std::endian::native == std::endian::little, "the table lies in memory as stored");

// Published models have tries of a quarter of a megabyte.
constexpr size_t kMaxTrieBytes = size_t{16} << 20;
constexpr uint32_t kIsLeaf = 1u << 31, kHasLeaf = 1u << 8, kFarOffset = 1u << 9;
// Longer clusters are replaced character by character.
constexpr size_t kMaxClusterBytes = 5;

}  // namespace

CharsMap::CharsMap(std::string_view bytes, const std::string& where) : where_(where) {
  uint32_t trie_bytes = 0;
  if (bytes.size() < sizeof(trie_bytes)) fail("cut off");
  std::memcpy(&trie_bytes, bytes.data(), sizeof(trie_bytes));
  bytes.remove_prefix(sizeof(trie_bytes));
  if (trie_bytes > bytes.size() || trie_bytes % sizeof(uint32_t) != 0 ||
      trie_bytes > kMaxTrieBytes || trie_bytes == 0)
    fail("of an impossible size");
  units_.resize(trie_bytes / sizeof(uint32_t));
  std::memcpy(units_.data(), bytes.data(), trie_bytes);
  texts_ = bytes.substr(trie_bytes);
  if (texts_.empty() || texts_.back() != '\0') fail("without the end of its texts");
  check();
}

// Follows every path that a text can take through the trie.
void CharsMap::check() const {
  std::vector<size_t> open = {base_of(units_[0], 0)};
  std::vector<bool> seen(units_.size());
  seen[open[0]] = true;
  while (!open.empty()) {
    const size_t base = open.back();
    open.pop_back();
    for (size_t label = 0; label < 256; ++label) {
      const uint32_t unit = units_[base ^ label];
      if ((unit & (kIsLeaf | 0xff)) != label) continue;
      const size_t next = base_of(unit, base ^ label);
      if (unit & kHasLeaf && (units_[next] & ~kIsLeaf) >= texts_.size())
        fail("that points beyond its texts");
      if (!seen[next]) open.push_back(next);
      seen[next] = true;
    }
  }
}

// Returns the base of the children of the unit at `at`: the child for label c is at base ^ c.
size_t CharsMap::base_of(uint32_t unit, size_t at) const {
  const size_t base = at ^ (size_t{unit >> 10} << ((unit & kFarOffset) ? 8 : 0));
  if ((base | 0xff) >= units_.size()) fail("that points beyond itself");
  return base;
}

void CharsMap::fail(std::string_view what) const {
  throw DataError(fmt::format("{}, got a table of normalized characters {}", where_, what));
}

std::optional<std::string_view> CharsMap::find(std::string_view text) const {
  size_t base = base_of(units_[0], 0);
  for (const char c : text) {
    const size_t label = static_cast<uint8_t>(c), at = base ^ label;
    const uint32_t unit = units_[at];
    if ((unit & (kIsLeaf | 0xff)) != label) return std::nullopt;
    base = base_of(unit, at);
    if (unit & kHasLeaf) return std::string_view(texts_.c_str() + (units_[base] & ~kIsLeaf));
  }
  return std::nullopt;
}

std::optional<CharsMap::Found> CharsMap::find_longest(std::string_view text) const {
  std::optional<Found> out;
  size_t base = base_of(units_[0], 0);
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t label = static_cast<uint8_t>(text[i]), at = base ^ label;
    const uint32_t unit = units_[at];
    if ((unit & (kIsLeaf | 0xff)) != label) break;
    base = base_of(unit, at);
    if (unit & kHasLeaf)
      out = Found{std::string_view(texts_.c_str() + (units_[base] & ~kIsLeaf)), i + 1};
  }
  return out;
}

bool CharsMap::may_begin_with(std::string_view text) const {
  size_t base = base_of(units_[0], 0);
  for (const char c : text) {
    const size_t label = static_cast<uint8_t>(c), at = base ^ label;
    if ((units_[at] & (kIsLeaf | 0xff)) != label) return false;
    if (units_[at] & kHasLeaf) return true;
    base = base_of(units_[at], at);
  }
  return true;
}

bool CharsMap::keeps_in_ascii(uint8_t character) const {
  const size_t at = base_of(units_[0], 0) ^ character;
  const auto has_label = [&](size_t place, size_t label) {
    return (units_[place] & (kIsLeaf | 0xff)) == label;
  };
  if (!has_label(at, character)) return true;
  const size_t base = base_of(units_[at], at);
  if (units_[at] & kHasLeaf) return false;
  for (size_t next = 0; next < 128; ++next) {
    if (has_label(base ^ next, next)) return false;
  }
  return true;
}

void CharsMap::normalize(std::string& text) const {
  std::string out;
  out.reserve(text.size());
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view cluster = rest.substr(0, first_grapheme(rest));
    rest.remove_prefix(cluster.size());
    if (cluster.size() <= kMaxClusterBytes) {
      if (const auto found = find(cluster)) {
        out += *found;
        continue;
      }
    }
    while (!cluster.empty()) {
      const std::string_view character = cluster.substr(0, first_code_point(cluster).size);
      out += find(character).value_or(character);
      cluster.remove_prefix(character.size());
    }
  }
  text = std::move(out);
}

}  // namespace axle
