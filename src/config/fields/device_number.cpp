#include "config/fields/device_number.h"

#include <cmath>
#include <limits>

namespace axle {

bool fits_device(double v) {
  using Limits = std::numeric_limits<float>;
  const double size = std::abs(v);
  return size == 0 || (size >= Limits::min() && size <= Limits::max());
}

}  // namespace axle
