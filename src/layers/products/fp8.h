// Rounding to 8-bit floats and back, so that XLA computes a product of the results in 8 bits: it
// recognises operands that are converted from 8 bits and multiplied by a scalar.
//
// Source: Micikevicius et al. 2022, "FP8 Formats for Deep Learning", arXiv 2209.05433.
#pragma once

#include "base/text/enum_text.h"
#include "ir/tensor.h"

namespace axle {

/// The formats, by their bits of exponent and mantissa.
enum class Fp8Format { kE4M3, kE5M2 };
constexpr auto texts_of(Fp8Format) {
  return std::to_array<EnumText<Fp8Format>>(
      {{Fp8Format::kE4M3, "e4m3"}, {Fp8Format::kE5M2, "e5m2"}});
}

/// Returns the largest finite number of the format: 448 or 57344.
double largest_number(Fp8Format format);

/// Returns scale * round(x / scale) in the dtype of x; round() rounds to the format, and larger
/// numbers become the largest one. The scale is first rounded to the dtype of x. No gradient.
Tensor through_fp8(const Tensor& x, const Tensor& scale, Fp8Format format);

/// The same with the gradient of the identity by x, also where numbers were too large.
Tensor rounded_to_fp8(const Tensor& x, const Tensor& scale, Fp8Format format);

}  // namespace axle
