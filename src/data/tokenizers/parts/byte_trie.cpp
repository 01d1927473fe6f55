#include "data/tokenizers/parts/byte_trie.h"

#include <utility>

namespace axle {

void ByteTrie::add(std::string_view text, int32_t value) {
  int32_t node = -1;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    int32_t next = child(node, byte);
    if (next < 0) {
      next = static_cast<int32_t>(values_.size());
      values_.push_back(-1);
      if (node < 0)
        roots_[byte] = next;
      else
        insert(key_of(node, byte), next);
    }
    node = next;
  }
  values_[static_cast<size_t>(node)] = value;
}

void ByteTrie::insert(uint64_t key, int32_t node) {
  if (2 * (num_children_ + 1) > slots_.size()) {
    const std::vector<Slot> old =
        std::exchange(slots_, std::vector<Slot>(slots_.empty() ? 256 : 2 * slots_.size()));
    num_children_ = 0;
    for (const Slot& slot : old) {
      if (slot.node >= 0) insert(slot.key, slot.node);
    }
  }
  size_t at = slot_of(key);
  while (slots_[at].node >= 0) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = {key, node};
  ++num_children_;
}

std::optional<ByteTrie::Found> ByteTrie::find(std::string_view text, size_t from) const {
  for (size_t begin = from; begin < text.size(); ++begin) {
    if (roots_[static_cast<uint8_t>(text[begin])] < 0) continue;
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
