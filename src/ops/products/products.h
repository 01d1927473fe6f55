// Products: contractions, products of groups of rows, convolutions, Fourier transforms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/dtype.h"
#include "ir/op_rules.h"
#include "ir/tensor.h"
#include "ops/elementwise/elementwise.h"
#include "ops/windows/windows.h"

namespace axle {

// Contractions: dot and dot_general.
//
// Both operands have the same dtype: integers, floats or complex numbers. Only 8-bit floats may
// differ. Products of 8- and 16-bit floats are summed in f32 and rounded once, to the dtype of the
// result. The backward pass first converts the cotangent to the dtype of the operands: the backward
// products of 16-bit operands are 16-bit, even if the result is f32. The backward products of 8-bit
// operands have the dtype of the cotangent.

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

// Contractions by labelled dims: einsum, and contract, which einsum and the gradient of dot_general
// build on.

/// einsum("btd,dnh->btnh", a, b): each letter names a dim. Letters that are not in the result are
/// summed over. A letter that occurs twice in one operand stands for the diagonal of these dims:
/// einsum("ii->i", a). Without "->" the result has the dims of "...", then the letters that occur
/// once, in the order of ASCII: "ij,jk" is "ij,jk->ik", "ii" is the trace.
///
/// "..." stands for any number of dims. The "..." dims of several operands are aligned from the
/// last one on, and a size of 1 is broadcast. If the result has no "...", they are summed over. The
/// sizes of a letter must be equal. Throws ShapeError if the operands do not fit the spec.
Tensor einsum(std::string_view spec, const Tensor& a, const Tensor& b,
              const DotOptions& options = {});
/// einsum("bts->bst", a): sums and transposes one operand.
Tensor einsum(std::string_view spec, const Tensor& a);
/// einsum("ij,jk,kl->il", {a, b, c}): the products of any number of operands, two at a time, in the
/// order of the fewest multiplications (of up to 8 operands; of more, the next best pair each
/// time). Products between have the dtype of the result if it is the wider one.
Tensor einsum(std::string_view spec, const Values& operands, const DotOptions& options = {});

/// Returns the shape of the result of einsum(). Throws ShapeError if the operands do not fit the
/// spec.
Shape einsum_shape(std::string_view spec, const Values& operands);

/// One label for each dim. Dims with the same label correspond to each other, as letters in einsum.
using Labels = std::vector<int>;

/// Returns the product of `a` and `b` with dims in the order of `out`. Labels that are not in `out`
/// are summed over. Every label of `out` must be in an operand, and no operand may repeat a label.
/// Swaps the operands if that avoids a transpose of the result.
Tensor contract(const Tensor& a, const Labels& a_labels, const Tensor& b, const Labels& b_labels,
                const Labels& out, const DotOptions& options);

/// a[N], b[M] -> y[N, M] = a[n] * b[m].
Tensor outer(const Tensor& a, const Tensor& b);
/// The Kronecker product of matrices: a[R, C], b[S, D] -> y[R * S, C * D].
Tensor kron(const Tensor& a, const Tensor& b);

// Products of the rows of a matrix with one matrix for each group of consecutive rows, as in a
// mixture of experts whose tokens are sorted by expert.
//
// Group g is made of the group_sizes[g] rows after the rows of the groups before it. Rows past the
// last group belong to none. Rows that the sizes count past the last row do not exist.
// A negative size counts as 0.
//
// Letters in shapes: m rows, k and n columns, g groups, b an optional batch.

/// Multiplies each row of lhs by the matrix of its group. Rows of no group become zero.
///
/// Shapes: lhs [b, m, k], rhs [g, k, n] or [b, g, k, n], group_sizes [b, g] i32 -> [b, m, n]. Each
/// b may be absent, but lhs and group_sizes have it together. lhs and rhs are floats of one dtype.
/// Throws ShapeError.
Tensor ragged_dot(const Tensor& lhs, const Tensor& rhs, const Tensor& group_sizes,
                  const DotOptions& options = {});

/// Returns for each group the product lhs^T rhs over its rows; zeros for an empty group.
///
/// Shapes: lhs [b, m, k], rhs [b, m, n], group_sizes [b, g] i32 -> [b, g, k, n]. All or none have
/// the b. lhs and rhs are floats of one dtype. Throws ShapeError.
Tensor ragged_dot_contracting(const Tensor& lhs, const Tensor& rhs, const Tensor& group_sizes,
                              const DotOptions& options = {});

// Convolutions of any number of spatial dims, with strides, dilations and groups.
//
// The kernel is not flipped: y[n, s, o] = sum over k and i of x[n, s * stride + k - low, i] *
// kernel[k, i, o], what is called a cross-correlation elsewhere.
//
// x and kernel have one dtype, float, integer or complex. The interpreter sums floats in f64 and
// rounds once. As for dot_general, the backward pass first converts the cotangent to the dtype of
// the operands.

/// The roles of the dims. The lists of x and y name the batch dim, the feature dim, then the
/// spatial dims. The list of the kernel names the output feature dim, the input feature dim, then
/// the spatial dims.
struct ConvolutionDims {
  std::vector<int64_t> x = {}, kernel = {}, y = {};
};
/// Reads dims from layouts: convolution_dims("NHWC", "HWIO", "NHWC"). N is the batch, C the
/// features, O and I the output and input features; every other letter is a spatial dim. Throws
/// ShapeError if the layouts do not fit together.
ConvolutionDims convolution_dims(std::string_view x, std::string_view kernel, std::string_view y);
/// Returns the dims of layouts with the features last, such as "NHWC", "HWIO", "NHWC".
ConvolutionDims features_last(int64_t num_spatial);

struct ConvolutionOptions {
  /// An entry for each spatial dim; empty: all 1.
  Shape strides = {};
  /// Padding of the spatial dims of x.
  Padding padding = {};
  /// d - 1 zeros between neighbouring elements of x; the strides of a transposed convolution.
  Shape input_dilation = {};
  /// Neighbouring elements of the kernel are d apart.
  Shape kernel_dilation = {};
  /// Empty: features_last.
  ConvolutionDims dims = {};
  /// Splits input and output features into this many groups that do not mix.
  int64_t feature_groups = 1;
  /// Splits the batch and the output features into this many groups: output features of group g see
  /// the examples of group g. At most one of the two numbers of groups may be above 1.
  int64_t batch_groups = 1;
  /// dtype of the result; none: dtype of the operands.
  std::optional<DType> result_dtype = {};
  /// Also used by the backward convolutions.
  Precision precision = Precision::kDefault;
};

/// Shapes, features last: x [N, spatial.., I], kernel [window.., I / feature_groups, O] ->
/// [N / batch_groups, windows.., O]. Throws ShapeError if shapes, dtypes or groups do not fit.
Tensor convolution(const Tensor& x, const Tensor& kernel, const ConvolutionOptions& options = {});

// Discrete Fourier transforms of the last dims.
//
// Over one dim of size n, with w = exp(-2 pi i / n): y[k] = sum_j x[j] * w^(j k). The inverse has
// w^(-j k) and divides by n. Several dims are transformed one after the other.

/// Transforms the last `num_dims` (1, 2 or 3) dims of a complex tensor.
///
/// Shapes: x[.., n] c64|c128 -> [.., n], dtype of x. Throws ShapeError for other dtypes, and if x
/// has fewer dims.
Tensor fft(const Tensor& x, int64_t num_dims = 1);
/// The inverse of fft.
Tensor ifft(const Tensor& x, int64_t num_dims = 1);
/// fft of real numbers, without the second half of the last dim, which is the conjugate of the
/// first. To transform more samples than x has, pad x with zeros.
///
/// Shapes: x[.., n] f32|f64 -> [.., n / 2 + 1] c64|c128. Throws ShapeError as fft does.
Tensor rfft(const Tensor& x, int64_t num_dims = 1);
/// The inverse of rfft: real numbers, `size` of them along the last dim; none: 2 * (m - 1). The
/// imaginary part of the first element of a line has no influence, nor has that of the last one if
/// `size` is even.
///
/// Shapes: x[.., m] c64|c128 -> [.., size] f32|f64. Throws ShapeError as fft does, and unless
/// m = size / 2 + 1.
Tensor irfft(const Tensor& x, std::optional<int64_t> size = {}, int64_t num_dims = 1);

}  // namespace axle
