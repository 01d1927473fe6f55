// Products of 8-bit floats whose scales follow from the numbers at hand (current scaling).
//
// Source: Micikevicius et al. 2022, "FP8 Formats for Deep Learning", arXiv 2209.05433, section 3.
#pragma once

#include "layers/products/fp8.h"
#include "layers/products/product.h"
#include "layers/products/scales.h"

namespace axle {

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
/// Inside of experts, scales are those of one token or expert.
///
/// Shapes: dtype of x. Products are summed in f32.
class Fp8Product final : public Product {
 public:
  struct Config {
    /// Format of x and the weight.
    Fp8Format forward = Fp8Format::kE4M3;
    /// Format of the cotangent; none: it is not rounded.
    std::optional<Fp8Format> gradient = Fp8Format::kE5M2;
    /// The numbers that share a scale in training: those of a `tensor`, which XLA's 8-bit products
    /// of GPUs need, or those of a `row` that is summed.
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

}  // namespace axle
