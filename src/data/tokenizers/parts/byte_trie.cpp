#include "data/tokenizers/parts/byte_trie.h"

#include <algorithm>

namespace axle {

// Places the children of one node after the other, each node at the first free place that fits.
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
