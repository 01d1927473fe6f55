// Contractions: dot and dot_general.
//
// Both operands have the same dtype: integers, floats or complex numbers. Only 8-bit floats may
// differ. Products of 8- and 16-bit floats are summed in f32 and rounded once, to the dtype of the
// result. The backward pass first converts the cotangent to the dtype of the operands: the backward
// products of 16-bit operands are 16-bit, even if the result is f32. The backward products of 8-bit
// operands have the dtype of the cotangent.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ir/tensor.h"
#include "ops/products/dot_algorithm.h"

namespace axle {

/// Precision of f32 products on accelerators: kDefault may use TF32 or one bf16 pass, kHighest is
/// full f32. CPUs ignore it.
enum class Precision : uint8_t { kDefault, kHigh, kHighest };

/// Returns the name in StableHLO: "DEFAULT", "HIGH" or "HIGHEST".
std::string_view mlir_name(Precision precision);
/// Returns the StableHLO attribute precision_config of a product of two operands.
std::string mlir_precision_config(Precision precision);

struct DotOptions {
  /// dtype of the result; none: dtype of the operands. Any float for floats, a wider integer of the
  /// same sign for integers. Required if the operands differ.
  std::optional<DType> result_dtype = {};
  /// Also used by the backward products.
  Precision precision = Precision::kDefault;
  /// Also used by the backward products, except those of 8-bit operands.
  DotAlgorithm algorithm = DotAlgorithm::kDefault;
};
/// Returns "result = f32, precision = HIGH, algorithm = BF16_BF16_F32", without the defaults.
std::string to_text(const DotOptions& options);

/// Returns what is wrong with an algorithm in `options` for operands and a result of these dtypes,
/// or an empty text.
std::string mismatch(const DotOptions& options, DType a, DType b, DType result);

/// Contracting and batch dims of dot_general. The i-th dim of each list of `a` pairs with the i-th
/// dim of the same list of `b`.
struct DotDims {
  std::vector<int64_t> a_contracting = {}, b_contracting = {};
  std::vector<int64_t> a_batch = {}, b_batch = {};
};

/// The result has the batch dims, then the free dims of `a`, then the free dims of `b`. Throws
/// ShapeError if dtypes or dims do not fit.
Tensor dot_general(const Tensor& a, const Tensor& b, const DotDims& dims,
                   const DotOptions& options = {});

/// Sums over the last dim of `a` and the first of `b`: [.., k] x [k, ..] -> [.., ..].
Tensor dot(const Tensor& a, const Tensor& b, const DotOptions& options = {});

/// What a traced dot_general computes, for transforms that replace it.
struct DotParts {
  const DotDims& dims;
  const DotOptions& options;
};
/// Returns the dims and options of a dot_general; none for every other op.
std::optional<DotParts> dot_parts_of(const OpNode& op);

}  // namespace axle
