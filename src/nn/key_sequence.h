// The keys of a sequence of draws. Each key is split off the rest, so that the first keys do not
// depend on how many follow.
#pragma once

#include <vector>

#include "ops/random/random.h"

namespace axle {

/// Initialisation gives keys to parameters and children in this way, in order of declaration.
class KeySequence {
 public:
  explicit KeySequence(const random::Key& key) : rest_(key) {}
  random::Key next() {
    const std::vector<random::Key> keys = random::split_each(rest_);
    rest_ = keys[0];
    return keys[1];
  }

 private:
  random::Key rest_;
};

}  // namespace axle
