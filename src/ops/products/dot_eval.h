// Products of host tensors for the interpreter, with packed operands, on all cores.
#pragma once

#include <cstdint>

#include "ir/host_tensor.h"
#include "ops/products/products.h"

namespace axle {

/// Multiplies a strip of `rows` rows by a strip of `columns` columns.
template <class T>
struct DotKernel {
  int64_t rows, columns;
  /// c[r, j] += a[0, r] b[0, j] + a[1, r] b[1, j] + ..., added in this order, for the rows r, the
  /// columns j and `depth` terms. a is [depth, rows], b [depth, columns]; neighbouring rows of c
  /// are `stride` elements apart. Every product and every sum is rounded, so that all machines get
  /// the same bits.
  void (*multiply)(const T* a, const T* b, int64_t depth, T* c, int64_t stride);
};

/// T is float, double, uint32_t or uint64_t.
template <class T>
const DotKernel<T>& dot_kernel();

/// Returns the dims of an operand of this rank that are neither contracting nor batch, ascending.
std::vector<int64_t> free_dims(int64_t rank, const std::vector<int64_t>& contracting,
                               const std::vector<int64_t>& batch);

/// Sets y = dot_general(a, b), in the dtype of y. Each element is summed in the order of the
/// contracting dims, independent of the number of threads. f32 operands are rounded as the
/// algorithm says; sums of floats are f32 for any algorithm.
void eval_dot(const DotDims& dims, const HostTensor& a, const HostTensor& b, HostTensor& y,
              DotAlgorithm algorithm = DotAlgorithm::kDefault);

}  // namespace axle
