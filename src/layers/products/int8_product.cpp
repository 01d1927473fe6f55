#include "layers/products/int8_product.h"

#include "config/register.h"
#include "layers/products/scales.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "ops/products/einsum.h"
#include "ops/products/scaled_integers.h"
#include "transform/custom_vjp.h"

namespace axle {
namespace {

// Returns the numbers of x, whose integers have the gradient of x / scale with a constant scale.
ScaledIntegers rounded(const Tensor& x, const std::vector<int64_t>& summed) {
  const CustomVjp rule{.name = "round_to_int8",
                       .forward =
                           [summed](const Values& v) {
                             const auto [integers, scale] = to_integers(v[0], summed);
                             return WithResiduals{{integers, scale}, {scale}};
                           },
                       .backward =
                           [](const Values& saved, const Values& g) {
                             const Tensor wide = astype(g[0], saved[0].dtype()) / saved[0];
                             return Values{astype(wide, g[0].dtype())};
                           }};
  const Values out = custom_vjp(rule, {x});
  return {out[0], out[1]};
}

}  // namespace

Tensor Int8Product::forward(const Tensor& x, const Tensor& weight) {
  const auto [q_x, s_x] = rounded(x, contracted_dims(x, letters_.x, letters_));
  const auto [q_w, s_w] = rounded(weight, contracted_dims(weight, letters_.weight, letters_));
  const bool wide_backward = backward_ == Int8Backward::kWide;
  const DotOptions options{
      .result_dtype = wide_dtype(x.dtype()),
      .algorithm = wide_backward ? DotAlgorithm::kI8I8I32 : DotAlgorithm::kI8I8I32Backward};
  const Tensor y = einsum(spec_, q_x, q_w, options);
  const Tensor scaled = y * spread_to(s_x, letters_.x, letters_.y, y) *
                        spread_to(s_w, letters_.weight, letters_.y, y);
  return astype(scaled, x.dtype());
}

AXLE_REGISTER(Int8Product)

}  // namespace axle
