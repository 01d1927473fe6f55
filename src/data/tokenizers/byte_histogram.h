// Counts of bytes, and how many bits each is worth.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace axle {

/// What a model that knows byte frequencies and nothing else reaches: the measure that a trained
/// one is printed beside.
class ByteHistogram {
 public:
  void add(std::string_view text);
  int64_t num_bytes() const { return num_bytes_; }
  /// Entropy of the bytes in bits per byte, order 0; 0 without any.
  double entropy_bits() const;

 private:
  std::array<int64_t, 256> counts_ = {};
  int64_t num_bytes_ = 0;
};

}  // namespace axle
