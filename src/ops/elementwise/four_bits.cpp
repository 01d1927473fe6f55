#include "ops/elementwise/four_bits.h"

namespace axle {

HloValue hlo_byte_of(HloBuilder& b, const HloValue& x) {
  const bool is_signed = x.type.dtype == DType::kI4;
  const Type type{is_signed ? DType::kI8 : DType::kU8, x.type.dims};
  const HloValue byte = b.one("stablehlo.convert", {x}, type);
  if (!is_signed) return b.one("stablehlo.and", {byte, b.splat(type, 15)}, type);
  const HloValue half = b.splat(type, 4);
  const HloValue high = b.one("stablehlo.shift_left", {byte, half}, type);
  return b.one("stablehlo.shift_right_arithmetic", {high, half}, type);
}

}  // namespace axle
