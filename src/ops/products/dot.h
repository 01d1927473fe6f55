// Contractions: matrix products, batched and generalised.
//
// Operands have one dtype. 16-bit products are summed in f32 and rounded once, to the dtype of the
// result. In the backward pass the cotangent is converted to the dtype of the operands first, so
// that the backward products of 16-bit operands are 16-bit as well, even where the result is f32.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ir/tensor.h"

namespace axle {

/// How exactly accelerators multiply f32: kDefault may use TF32 or one bf16 pass, kHighest is full
/// f32. CPUs ignore it.
enum class Precision : uint8_t { kDefault, kHigh, kHighest };

struct DotOptions {
  /// dtype of the result; none = that of the operands.
  std::optional<DType> result_dtype = {};
  /// Also used by the backward products.
  Precision precision = Precision::kDefault;
};

/// Dims that are summed over and dims that are walked together; the i-th of `a` pairs with the i-th
/// of `b`.
struct DotDims {
  std::vector<int64_t> a_contracting = {}, b_contracting = {};
  std::vector<int64_t> a_batch = {}, b_batch = {};
};

/// Dims of the result: batch, then the others of `a`, then the others of `b`. Throws ShapeError.
Tensor dot_general(const Tensor& a, const Tensor& b, const DotDims& dims,
                   const DotOptions& options = {});

/// Sums over the last dim of `a` and the first of `b`: [.., k] x [k, ..] -> [.., ..].
Tensor dot(const Tensor& a, const Tensor& b, const DotOptions& options = {});

/// einsum("btd,dnh->btnh", a, b): one letter a dim; letters that the result lacks are summed over.
/// "..." stands for any number of leading dims. No letter may occur twice in one operand. Throws
/// ShapeError.
Tensor einsum(std::string_view spec, const Tensor& a, const Tensor& b,
              const DotOptions& options = {});
/// einsum("bts->bst", a): sums and transposes one operand.
Tensor einsum(std::string_view spec, const Tensor& a);

}  // namespace axle
