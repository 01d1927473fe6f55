#include "data/tokenizers/byte_histogram.h"

#include <cmath>

namespace axle {

void ByteHistogram::add(std::string_view text) {
  for (const char c : text) ++counts_[static_cast<uint8_t>(c)];
  num_bytes_ += static_cast<int64_t>(text.size());
}

double ByteHistogram::entropy_bits() const {
  double bits = 0;
  for (const int64_t count : counts_) {
    if (count == 0) continue;
    const double p = static_cast<double>(count) / static_cast<double>(num_bytes_);
    bits -= p * std::log2(p);
  }
  return bits;
}

}  // namespace axle
