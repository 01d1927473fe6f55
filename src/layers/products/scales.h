// The scales of quantized products.
#pragma once

#include "layers/products/product.h"

namespace axle {

/// Which numbers of an operand share a scale.
enum class ScaleGroup {
  kTensor,  // all of them
  kRow      // those that are summed to one element of the product
};

/// Returns the dims of x that the product sums over; `letters` are those of x, "..." included.
std::vector<int64_t> contracted_dims(const Tensor& x, const std::string& letters,
                                     const ProductLetters& product);

/// Returns the largest absolute value of each group: f32 (f64 for f64), with the dims of x, of size
/// 1 where a group runs along them.
Tensor amax(const Tensor& x, const std::vector<int64_t>& dims);
/// The same over all dims: a scalar.
Tensor amax(const Tensor& x);
/// The same without padding (real_tokens), for activations.
Tensor amax_of_tokens(const Tensor& x);

/// Returns amax / largest, the factor by which numbers of up to `largest` become those of up to
/// amax; 1 for zeros.
Tensor scale_for(const Tensor& amax, double largest);

/// Returns a tensor of the dims `from`, which has size 1 along some of them, as one of the dims
/// `to` and of the shape of y. The dims of size 1 that `to` lacks are dropped.
Tensor spread_to(const Tensor& scale, const std::string& from, const std::string& to,
                 const Tensor& y);

}  // namespace axle
