// Contractions: dot and dot_general.
//
// Both operands have the same dtype: integers, floats or complex numbers. Only 8-bit floats may
// differ. Products of 8- and 16-bit floats are summed in f32 and rounded once, to the dtype of the
// result. The backward pass first converts the cotangent to the dtype of the operands: the backward
// products of 16-bit operands are 16-bit, even if the result is f32. The backward products of 8-bit
// operands have the dtype of the cotangent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/dtype.h"
#include "ir/op_rules.h"
#include "ir/tensor.h"
#include "ops/elementwise/convert.h"

namespace axle {

// Algorithms of products of floats: which precision the operands are rounded to, how often they are
// multiplied and in which dtype the products are summed.
//
// The interpreter rounds f32 operands as the algorithm says and sums in f32. XLA's CPU compiler
// takes every algorithm, but multiplies f32 operands as they are.
//
// Source: StableHLO's dot_algorithm; the names are the same as in JAX's lax.DotAlgorithmPreset. The
// algorithms of 8-bit integers are Axle's own.

/// Named <precision of a>_<precision of b>_<dtype of the sum>. X3, X6 and X9 split each operand
/// into a sum of numbers of that precision and add this many products of the parts, which comes
/// close to f32. FAST_ACCUM may sum less exactly. ANY_F8 stands for any 8-bit floats; "any" as the
/// last part for the dtype of the result.
///
/// I8_I8_I32 takes floats that are integers of [-127, 127], multiplies them as 8-bit integers, sums
/// in i32 and converts the sum to the dtype of the result. Other operands have no defined product.
/// With I8_I8_I32 the backward products have the dtype of the operands. With
/// I8_I8_I32_BACKWARD they are products of 8-bit integers, too: each row of the cotangent, along
/// the dims that a backward product sums over, is rounded to integers times a scale of the row.
enum class DotAlgorithm : uint8_t {
  kDefault,  // the device decides; see Precision
  kAnyF8AnyF8F32,
  kAnyF8AnyF8F32FastAccum,
  kAnyF8AnyF8Any,
  kAnyF8AnyF8AnyFastAccum,
  kF16F16F16,
  kF16F16F32,
  kBF16BF16BF16,
  kBF16BF16F32,
  kBF16BF16F32X3,
  kBF16BF16F32X6,
  kBF16BF16F32X9,
  kTF32TF32F32,
  kTF32TF32F32X3,
  kF32F32F32,
  kF64F64F64,
  kI8I8I32,
  kI8I8I32Backward
};

/// Returns JAX's name: "BF16_BF16_F32_X3".
std::string_view name_of(DotAlgorithm algorithm);

/// Returns what is wrong with operands and a result of these dtypes, or an empty text.
std::string mismatch(DotAlgorithm algorithm, DType a, DType b, DType result);
/// True for products of 8-bit integers, which StableHLO has no algorithm for.
bool has_integers(DotAlgorithm algorithm);
/// Returns the StableHLO attribute "#stablehlo.dot_algorithm<..>". Requires neither kDefault nor
/// has_integers.
std::string mlir_text(DotAlgorithm algorithm, DType a, DType b);

/// How an f32 operand is rounded: it becomes a sum of `num_parts` numbers with `mantissa_bits`.
/// Products of part i and part j are added if i + j < `num_orders`.
struct DotRounding {
  int mantissa_bits, num_parts, num_orders;
};
/// Returns none for algorithms that use operands as they are.
std::optional<DotRounding> rounding_of(DotAlgorithm algorithm);

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
  /// Also used by the backward products, except the products of 8-bit operands.
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
