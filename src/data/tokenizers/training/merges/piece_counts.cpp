#include "data/tokenizers/training/merges/piece_counts.h"

#include <utility>

namespace axle {
namespace {

// The low bits of a hash choose the part.
size_t slot_of(uint64_t hash, size_t num_slots) { return (hash >> 16) & (num_slots - 1); }

}  // namespace

void PieceCounts::Part::add(std::string_view piece, uint64_t hash, int64_t count) {
  if (3 * (num_pieces + 1) > 2 * slots.size()) grow();
  for (size_t at = slot_of(hash, slots.size());; at = (at + 1) & (slots.size() - 1)) {
    Slot& slot = slots[at];
    if (slot.count == 0) {
      slot = {hash, texts.size(), count, static_cast<uint32_t>(piece.size())};
      texts += piece;
      ++num_pieces;
      return;
    }
    if (slot.hash == hash && text_of(slot) == piece) {
      slot.count += count;
      return;
    }
  }
}

void PieceCounts::Part::grow() {
  const std::vector<Slot> old =
      std::exchange(slots, std::vector<Slot>(slots.empty() ? 64 : 2 * slots.size()));
  for (const Slot& slot : old) {
    if (slot.count == 0) continue;
    size_t at = slot_of(slot.hash, slots.size());
    while (slots[at].count != 0) at = (at + 1) & (slots.size() - 1);
    slots[at] = slot;
  }
}

void PieceCounts::add_part(const PieceCounts& other, size_t part) {
  const Part& from = other.parts_[part];
  for (const Slot& slot : from.slots)
    if (slot.count > 0) parts_[part].add(from.text_of(slot), slot.hash, slot.count);
}

int64_t PieceCounts::num_pieces() const {
  int64_t out = 0;
  for (const Part& part : parts_) out += static_cast<int64_t>(part.num_pieces);
  return out;
}

int64_t PieceCounts::num_bytes() const {
  int64_t out = 0;
  for (const Part& part : parts_) out += std::ssize(part.texts);
  return out;
}

}  // namespace axle
