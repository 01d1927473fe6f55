#include "layers/products/fp8.h"

#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "transform/custom_vjp.h"

namespace axle {

double largest_number(Fp8Format format) { return format == Fp8Format::kE4M3 ? 448 : 57344; }

Tensor through_fp8(const Tensor& x, const Tensor& scale, Fp8Format format) {
  const double largest = largest_number(format);
  const DType narrow = format == Fp8Format::kE4M3 ? DType::kF8E4M3FN : DType::kF8E5M2;
  const Tensor factor = astype(scale, x.dtype());
  const DType wide = wide_dtype(x.dtype());
  const Tensor divided = astype(x, wide) / astype(factor, wide);
  return astype(astype(clamp(-largest, divided, largest), narrow), x.dtype()) * factor;
}

Tensor rounded_to_fp8(const Tensor& x, const Tensor& scale, Fp8Format format) {
  const CustomVjp rule{.name = "round_to_fp8",
                       .forward =
                           [format](const Values& v) {
                             return WithResiduals{{through_fp8(v[0], v[1], format)}, {}};
                           },
                       .backward =
                           [](const Values&, const Values& g) {
                             return Values{g[0], Tensor()};
                           }};
  return custom_vjp(rule, {x, scale})[0];
}

}  // namespace axle
