#include "ir/change_dtype.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "ir/finite.h"

namespace axle {
namespace {

// The largest finite number of a dtype of floats.
double largest_of(DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3FN:
      return 448;
    case DType::kF8E5M2:
      return 57344;
    case DType::kF16:
      return 65504;
    case DType::kBF16:
      return 0x1.fep127;
    case DType::kF32:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

// What to do.
std::string dtypes_that_hold(double number) {
  const double size = std::abs(number);
  if (size <= largest_of(DType::kBF16)) return "bf16 and f32 hold it";
  return size <= largest_of(DType::kF32) ? "f32 holds it" : "f64 alone holds it";
}

}  // namespace

std::optional<double> first_too_large(const HostTensor& from, const HostTensor& to) {
  if (!is_float(from.dtype()) || largest_of(from.dtype()) <= largest_of(to.dtype()) ||
      all_finite(to))
    return {};
  for (int64_t i = 0; i < from.size(); ++i)
    if (std::isfinite(from.at(i)) && !std::isfinite(to.at(i))) return from.at(i);
  return {};
}

std::string too_large_text(double number, DType dtype) {
  return fmt::format("expected magnitudes up to {:.6g} for {}, got {:.6g}; {}", largest_of(dtype),
                     name_of(dtype), number, dtypes_that_hold(number));
}

HostTensor checked_astype(const HostTensor& tensor, DType dtype, const std::string& where) {
  HostTensor out = tensor.astype(dtype);
  if (const auto number = first_too_large(tensor, out))
    throw DataError(fmt::format("{}: {}", where, too_large_text(*number, dtype)));
  return out;
}

}  // namespace axle
