// Slots: the extra results that the forward branches of a cond share. Each branch returns its
// residuals in some of them and zeros in the others.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "transform/remat/partition.h"

namespace axle {

/// Returns the index of the first slot that equals `wanted` and is not in `taken`. Adds a slot if
/// there is none.
template <class Slot>
size_t take_slot(std::vector<Slot>& slots, const Slot& wanted, const std::vector<size_t>& taken) {
  size_t slot = 0;
  while (slot < slots.size() &&
         (slots[slot] != wanted || std::ranges::find(taken, slot) != taken.end()))
    ++slot;
  if (slot == slots.size()) slots.push_back(wanted);
  return slot;
}

/// Returns the forward half of a branch with slots of these types as further results. `slot_of`
/// gives the slot of each of its residuals.
std::shared_ptr<const Region> forward_branch(const Halves& halves, const std::vector<Type>& slots,
                                             const std::vector<size_t>& slot_of);

}  // namespace axle
