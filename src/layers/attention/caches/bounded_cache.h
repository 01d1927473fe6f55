// Caches that may have less room than the sequences of a batch need.
#pragma once

#include <cstdint>
#include <span>

namespace axle {

/// An interface beside the role of a cache. Who starts sequences asks each such cache first.
class BoundedCache {
 public:
  virtual ~BoundedCache() = default;
  /// Throws ConfigError unless sequences of these lengths, in tokens, fit together.
  virtual void check_room(std::span<const int64_t> lengths) const = 0;
};

}  // namespace axle
