#include "layers/products/fp8_product.h"

#include <cmath>

#include "config/register.h"
#include "layers/products/int8_product.h"
#include "ops/annotate.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/products/products.h"
#include "ops/reductions/reductions.h"
#include "transform/grad.h"

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

namespace {

// Returns y. Its cotangent is rounded with the scale, and the cotangent of `amax_of_gradient` is
// the largest absolute value of that of y.
Tensor with_scaled_gradient(const Tensor& y, const Tensor& scale, const Tensor& amax_of_gradient,
                            Fp8Format format) {
  const CustomVjp rule{
      .name = "round_gradient_to_fp8",
      .forward =
          [](const Values& v) {
            return WithResiduals{{v[0]}, {v[1]}};
          },
      .backward = [format, dtype = amax_of_gradient.dtype()](const Values& saved,
                                                             const Values& g) -> Values {
        return {through_fp8(g[0], saved[0], format), Tensor(), astype(amax(g[0]), dtype)};
      }};
  return custom_vjp(rule, {y, scale, amax_of_gradient})[0];
}

}  // namespace

DelayedFp8Product::DelayedFp8Product(const Config& cfg, const Dims& dims, const Scope& scope)
    : Product(scope), cfg_(cfg), spec_(dims.spec) {
  const auto declare = [&](const std::string& of, StateUpdate update) {
    declare_state(of + "_amax", {.update = update});
    // Each expert sees an equal copy of the gradient's amax, and so an equal history.
    const bool is_copied = update == StateUpdate::kGradient;
    declare_state(of + "_history",
                  {.shape = {cfg.history_length},
                   .update = is_copied ? StateUpdate::kMaximum : StateUpdate::kSet});
  };
  declare("x", StateUpdate::kMaximum);
  declare("weight", StateUpdate::kMaximum);
  if (cfg.gradient) declare("gradient", StateUpdate::kGradient);
}

// Puts the amax of the last step in front of the history.
Tensor DelayedFp8Product::scale_of(const std::string& of, Fp8Format format) {
  const Tensor newest = stop_gradient(state(of + "_amax"));
  const Tensor old = state(of + "_history");
  const Tensor history =
      concatenate({expand_dims(newest, 0), slice_in_dim(old, 0, 0, old.dim(0) - 1)}, 0);
  if (is_training()) set_state(of + "_history", history);
  const Tensor largest = reduce_max(history, {0}) * std::exp2(double{cfg_.margin});
  return stop_gradient(scale_for(largest, largest_number(format)));
}

Tensor DelayedFp8Product::rounded(const std::string& of, const Tensor& v) {
  const Tensor scale = scale_of(of, cfg_.forward);
  if (is_training()) {
    const Tensor largest = of == "x" ? amax_of_tokens(v) : amax(v);
    set_state(of + "_amax", astype(largest, DType::kF32));
  }
  return rounded_to_fp8(v, scale, cfg_.forward);
}

Tensor DelayedFp8Product::forward(const Tensor& x, const Tensor& weight) {
  const Tensor q_x = rounded("x", x);
  const Tensor y = einsum(spec_, q_x, rounded("weight", weight));
  if (!cfg_.gradient) return y;
  const Tensor scale = scale_of("gradient", *cfg_.gradient);
  return with_scaled_gradient(y, scale, state("gradient_amax"), *cfg_.gradient);
}

AXLE_REGISTER(DelayedFp8Product)

}  // namespace axle
