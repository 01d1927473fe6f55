// Products of 8-bit integers.
//
// Source: Lew et al. 2022, "AQT: Accurate Quantized Training" (github.com/google/aqt); gradients of
//   rounding: Bengio et al. 2013, arXiv 1308.3432.
#pragma once

#include "base/text/text.h"
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

/// Which numbers of an operand share a scale.
enum class ScaleGroup {
  kTensor,  // all of them
  kRow      // those that are summed to one element of the product
};

/// Returns the dims of x that the product sums over; `letters` are x's, "..." included.
std::vector<int64_t> contracted_dims(const Tensor& x, const std::string& letters,
                                     const ProductLetters& product);

/// Returns the largest absolute value of each group: f32 (f64 for f64), with the dims of x, of size
/// 1 where a group runs along them.
Tensor amax(const Tensor& x, const std::vector<int64_t>& dims);
/// The same over all dims: a scalar.
Tensor amax(const Tensor& x);
/// The same without padding (real_tokens), for activations.
Tensor amax_of_tokens(const Tensor& x);

/// Returns amax / largest, the factor by which numbers up to `largest` are scaled to numbers up to
/// amax; 1 for zeros.
Tensor scale_for(const Tensor& amax, double largest);

/// Returns a tensor of the dims `from`, which has size 1 along some of them, as one of the dims
/// `to` and of the shape of y. The dims of size 1 that `to` lacks are dropped.
Tensor spread_to(const Tensor& scale, const std::string& from, const std::string& to,
                 const Tensor& y);

}  // namespace axle
