// What the queries of a block see of the keys of a block.
#pragma once

#include <algorithm>
#include <cstdint>

namespace axle {

/// Queries at the positions [query_begin, query_end), keys at [key_begin, key_end).
struct PlaceBlock {
  int64_t query_begin = 0, query_end = 0, key_begin = 0, key_end = 0;
  /// False: a mask that would have to be evaluated for the block says kSome instead.
  bool may_evaluate = true;
  /// The least and the largest distance from a key to a later query; negative for earlier ones.
  int64_t least_distance() const { return query_begin - (key_end - 1); }
  int64_t largest_distance() const { return query_end - 1 - key_begin; }
};

/// kNone: no query sees a key. kAll: each query sees each key. kSome: some do, or it is not known.
enum class Sight : uint8_t { kNone, kSome, kAll };

/// The sight of queries that see the keys at distances from `least` to `most`.
inline Sight sight_at_distances(const PlaceBlock& block, int64_t least, int64_t most) {
  if (block.largest_distance() < least || block.least_distance() > most) return Sight::kNone;
  return block.least_distance() >= least && block.largest_distance() <= most ? Sight::kAll
                                                                             : Sight::kSome;
}

/// The sight where both conditions must hold, and where one is enough.
inline Sight both(Sight a, Sight b) { return std::min(a, b); }
inline Sight either(Sight a, Sight b) { return std::max(a, b); }

}  // namespace axle
