#include "data/tokenizers/parts/byte_level.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/text/unicode.h"

namespace axle {
namespace {

int digit_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

}  // namespace

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  size_t padding = 0;
  while (padding < 2 && text.ends_with('=')) {
    text.remove_suffix(1);
    ++padding;
  }
  std::string out;
  out.reserve(text.size() / 4 * 3 + 3);
  uint32_t bits = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const int digit = digit_of(text[i]);
    if (digit < 0) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    if (i % 4 > 0) out += static_cast<char>(bits >> (6 - 2 * (i % 4)));
  }
  return out;
}

namespace {

constexpr char32_t kFirstOther = 0x100;

constexpr bool is_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

constexpr auto kCharacters = [] {
  std::array<char32_t, 256> out{};
  char32_t other = kFirstOther;
  for (unsigned byte = 0; byte < 256; ++byte) out[byte] = is_itself(byte) ? byte : other++;
  return out;
}();

// The byte of each character; -1 where there is none.
constexpr auto kBytes = [] {
  std::array<int, 512> out{};
  out.fill(-1);
  for (unsigned byte = 0; byte < 256; ++byte) out[kCharacters[byte]] = static_cast<int>(byte);
  return out;
}();

}  // namespace

std::string to_byte_level(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() + bytes.size() / 2);
  for (const char c : bytes) append_utf8(out, kCharacters[static_cast<uint8_t>(c)]);
  return out;
}

std::optional<std::string> from_byte_level(std::string_view text) {
  std::string out;
  bool is_whole = true;
  for_each_code_point(text, [&](char32_t c) {
    const int byte = c < kBytes.size() ? kBytes[c] : -1;
    is_whole &= byte >= 0;
    out += static_cast<char>(byte);
  });
  return is_whole ? std::optional(std::move(out)) : std::nullopt;
}

// Stores the children of one node after the other, each node at the first free index that fits.
struct ByteTrie::Builder {
  std::vector<Unit>& units;
  const std::vector<Entry>& entries;  // sorted, without repetition
  size_t first_free = 1;
  std::vector<uint8_t> labels = {};

  struct Node {
    uint32_t at;
    size_t begin, end, depth;  // of its entries, and of its text
  };

  void build() {
    std::vector<Node> open = {{0, 0, entries.size(), 0}};
    while (!open.empty()) {
      const Node node = open.back();
      open.pop_back();
      place_children(node, open);
    }
  }

  void place_children(Node node, std::vector<Node>& open) {
    if (node.begin < node.end && entries[node.begin].text.size() == node.depth)
      units[node.at].value = entries[node.begin++].value;
    if (node.begin == node.end) return;
    labels.clear();
    for (size_t i = node.begin; i < node.end; ++i) {
      const auto label = static_cast<uint8_t>(entries[i].text[node.depth]);
      if (labels.empty() || labels.back() != label) labels.push_back(label);
    }
    const uint32_t base = find_base();
    units[node.at].base = base;
    for (const uint8_t label : labels) units[base + label].parent = node.at + 1;
    for (size_t begin = node.begin, end = begin; begin < node.end; begin = end) {
      const char label = entries[begin].text[node.depth];
      while (end < node.end && entries[end].text[node.depth] == label) ++end;
      open.push_back({base + static_cast<uint8_t>(label), begin, end, node.depth + 1});
    }
  }

  bool is_free(size_t at) const { return at >= units.size() || units[at].parent == 0; }

  uint32_t find_base() {
    size_t num_taken = 0;
    for (size_t at = std::max<size_t>(first_free, labels[0] + size_t{1});; ++at) {
      if (!is_free(at)) {
        ++num_taken;
        continue;
      }
      const size_t base = at - labels[0];
      if (!std::ranges::all_of(labels, [&](uint8_t label) { return is_free(base + label); }))
        continue;
      // Where nearly all is taken, nobody needs to look again.
      if (20 * num_taken >= 19 * (at - first_free + 1)) first_free = at;
      if (base + kNumBytes > units.size()) units.resize(base + 2 * kNumBytes);
      return static_cast<uint32_t>(base);
    }
  }
};

ByteTrie::ByteTrie(std::vector<Entry> entries) {
  std::ranges::stable_sort(entries, {}, &Entry::text);
  std::vector<Entry> last;
  for (const Entry& entry : entries) {
    if (!last.empty() && last.back().text == entry.text)
      last.back() = entry;
    else
      last.push_back(entry);
  }
  units_[0].parent = UINT32_MAX;  // taken
  Builder{units_, last}.build();
}

std::optional<ByteTrie::Found> ByteTrie::find(std::string_view text, size_t from) const {
  for (size_t begin = from; begin < text.size(); ++begin) {
    if (!begins_with(static_cast<uint8_t>(text[begin]))) continue;
    Found out{begin, 0, -1};
    prefixes(text.substr(begin), [&](size_t size, int32_t value) {
      out.size = size;
      out.value = value;
    });
    if (out.size > 0) return out;
  }
  return std::nullopt;
}

}  // namespace axle
