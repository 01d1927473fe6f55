// Products of 8-bit integers.
//
// Source: Lew et al. 2022, "AQT: Accurate Quantized Training" (github.com/google/aqt); gradients of
//   rounding: Bengio et al. 2013, arXiv 1308.3432.
#pragma once

#include "base/text/enum_text.h"
#include "layers/products/product.h"

namespace axle {

/// The dtype of the products of the backward pass.
enum class Int8Backward { kWide, kInteger };
constexpr auto texts_of(Int8Backward) {
  return std::to_array<EnumText<Int8Backward>>(
      {{Int8Backward::kWide, "wide"}, {Int8Backward::kInteger, "int8"}});
}

/// y = einsum(spec, q_x, q_w) * s_x * s_w, where q = round(v / s) is of [-127, 127] and
/// s = amax(v) / 127. Each row of x and each column of the weight has a scale of its own, along the
/// dims that are summed. Rounding has the gradient of the identity, and scales have none.
///
/// Shapes: dtype of x. Products are summed in i32, and scaled in f32.
class Int8Product final : public Product {
 public:
  struct Config {
    /// The products of the backward pass: `wide`, in the dtype of x, or `int8`, where the rows of
    /// the cotangent are rounded likewise.
    Int8Backward backward = Int8Backward::kWide;
    AXLE_CONFIG(Int8Product, backward)
  };
  Int8Product(const Config& cfg, const Dims& dims, const Scope& scope)
      : Product(scope), backward_(cfg.backward), spec_(dims.spec), letters_(letters_of(dims)) {}
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& x, const Tensor& weight) override;

 private:
  Int8Backward backward_;
  std::string spec_;
  ProductLetters letters_;
};

}  // namespace axle
