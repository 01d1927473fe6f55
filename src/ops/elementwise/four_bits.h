// The lowering of 4-bit integers to bytes.
#pragma once

#include "ir/hlo_builder.h"

namespace axle {

/// Converts i4 to i8 and u4 to u8. XLA's CPU compiler computes 4-bit integers in bytes and does not
/// wrap a sum before it converts that to a byte, so the byte is wrapped here.
HloValue hlo_byte_of(HloBuilder& b, const HloValue& x);

}  // namespace axle
