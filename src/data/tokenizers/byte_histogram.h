// Byte counts, and the entropy that follows from them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace axle {

/// The loss of a model that knows only byte frequencies. It is printed beside the loss of a trained
/// model for comparison.
class ByteHistogram {
 public:
  void add(std::string_view text);
  int64_t num_bytes() const { return num_bytes_; }
  /// Returns the order-0 entropy in bits per byte; 0 without any bytes.
  double entropy_bits() const;

 private:
  std::array<int64_t, 256> counts_ = {};
  int64_t num_bytes_ = 0;
};

}  // namespace axle
