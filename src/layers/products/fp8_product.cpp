#include "layers/products/fp8_product.h"

#include "config/register.h"
#include "ops/annotate.h"
#include "ops/products/einsum.h"
#include "transform/custom_vjp.h"

namespace axle {
namespace {

// Returns y, whose cotangent is rounded.
Tensor with_rounded_gradient(const Tensor& y, Fp8Format format) {
  const CustomVjp rule{.name = "round_gradient_to_fp8",
                       .forward =
                           [](const Values& v) {
                             return WithResiduals{v, {}};
                           },
                       .backward = [format](const Values&, const Values& g) -> Values {
                         const Tensor scale = scale_for(amax(g[0]), largest_number(format));
                         return {through_fp8(g[0], scale, format)};
                       }};
  return custom_vjp(rule, {y})[0];
}

}  // namespace

Tensor Fp8Product::forward(const Tensor& x, const Tensor& weight) {
  const auto rounded = [&](const Tensor& v, const Tensor& largest) {
    const Tensor scale = stop_gradient(scale_for(largest, largest_number(cfg_.forward)));
    return rounded_to_fp8(v, scale, cfg_.forward);
  };
  const auto by_row = [&](const Tensor& v, const std::string& letters) {
    return amax(v, contracted_dims(v, letters, letters_));
  };
  const bool rows = cfg_.scales == ScaleGroup::kRow, rows_of_x = rows || !is_training();
  const Tensor q_x = rounded(x, rows_of_x ? by_row(x, letters_.x) : amax_of_tokens(x));
  const Tensor q_weight = rounded(weight, rows ? by_row(weight, letters_.weight) : amax(weight));
  const Tensor y = einsum(spec_, q_x, q_weight);
  return cfg_.gradient ? with_rounded_gradient(y, *cfg_.gradient) : y;
}

AXLE_REGISTER(Fp8Product)

}  // namespace axle
