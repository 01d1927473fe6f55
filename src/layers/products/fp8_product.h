// Products of 8-bit floats whose scales follow from the numbers at hand (current scaling).
//
// Source: Micikevicius et al. 2022, "FP8 Formats for Deep Learning", arXiv 2209.05433, section 3.
#pragma once

#include "base/text/text.h"
#include "ir/tensor.h"
#include "layers/products/int8_product.h"
#include "layers/products/product.h"

namespace axle {

// Rounding to 8-bit floats and back, so that XLA computes a product of the results in 8 bits: it
// recognises operands that are converted from 8 bits and multiplied by a scalar.
//
// Source: Micikevicius et al. 2022, "FP8 Formats for Deep Learning", arXiv 2209.05433.

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

constexpr auto texts_of(ScaleGroup) {
  return std::to_array<EnumText<ScaleGroup>>(
      {{ScaleGroup::kTensor, "tensor"}, {ScaleGroup::kRow, "row"}});
}

/// y = einsum(spec, r(x), r(weight)), where r(v) = s * fp8(v / s) and s = amax(v) / the largest
/// number of the format. The cotangent of y is rounded likewise, so that the products of the
/// backward pass are 8-bit ones, too. Rounding has the gradient of the identity.
///
/// Padding does not count for the scale of x (real_tokens). Outside of training each row of x has a
/// scale of its own, so that the result of a token does not depend on the others of the call.
/// Inside of experts, scales are of one token or expert.
///
/// Shapes: dtype of x. Products are summed in f32.
class Fp8Product final : public Product {
 public:
  struct Config {
    /// Format of x and the weight.
    Fp8Format forward = Fp8Format::kE4M3;
    /// Format of the cotangent; none: it is not rounded.
    std::optional<Fp8Format> gradient = Fp8Format::kE5M2;
    /// The numbers that share a scale in training: all of a `tensor`, which XLA's 8-bit products
    /// of GPUs need, or of a `row` that is summed.
    ScaleGroup scales = ScaleGroup::kTensor;
    AXLE_CONFIG(Fp8Product, forward, gradient, scales)
  };
  Fp8Product(const Config& cfg, const Dims& dims, const Scope& scope)
      : Product(scope), cfg_(cfg), spec_(dims.spec), letters_(letters_of(dims)) {}
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& x, const Tensor& weight) override;

 private:
  Config cfg_;
  std::string spec_;
  ProductLetters letters_;
};

// Products of 8-bit floats whose scales follow from the numbers of past steps (delayed scaling), so
// that no product waits for a pass over its operands.
//
// Source: Micikevicius et al. 2022, "FP8 Formats for Deep Learning", arXiv 2209.05433, section 3;
//   the histories: Transformer Engine, DelayedScaling.

/// Number of steps that a history holds.
using HistoryLength = Ranged<int64_t, Bounds{.min = 1, .max = 65536}>;
/// Exponent of a power of two.
using Margin = Ranged<double, Bounds{.min = 0, .max = 16}>;

/// y = einsum(spec, r(x), r(weight)), where r(v) = s * fp8(v / s) and s = 2^margin * the largest
/// amax(v) of the last steps / the largest number of the format. The cotangent of y is rounded
/// likewise. Larger numbers become the largest one. Rounding has the gradient of the identity.
///
/// Padding does not count for the amax of x (real_tokens). Only training changes the state;
/// evaluation and decoding round with the scales that it left. Experts share the state, and a
/// scale. Before the first step all scales are 1.
///
/// Shapes: dtype of x. Products are summed in f32.
/// State, each f32: x_amax[], weight_amax[] and gradient_amax[], from the last step;
///   x_history[N], weight_history[N] and gradient_history[N], from the steps before it, newest
///   first, of which the last is dropped. Each step and each microbatch is one entry. If a layer is
///   called several times in a step, its gradient_amax is the sum over the calls.
class DelayedFp8Product final : public Product {
 public:
  struct Config {
    /// Format of x and the weight.
    Fp8Format forward = Fp8Format::kE4M3;
    /// Format of the cotangent; none: it is not rounded.
    std::optional<Fp8Format> gradient = Fp8Format::kE5M2;
    /// Number of steps whose largest number sets the scale.
    HistoryLength history_length = 128;
    /// The scale leaves room for numbers 2^margin times as large.
    Margin margin = 0;
    AXLE_CONFIG(DelayedFp8Product, forward, gradient, history_length, margin)
  };
  DelayedFp8Product(const Config& cfg, const Dims& dims, const Scope& scope);
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& x, const Tensor& weight) override;

 private:
  Tensor scale_of(const std::string& name, Fp8Format format);
  Tensor rounded(const std::string& name, const Tensor& v);

  Config cfg_;
  std::string spec_;
};

}  // namespace axle
