// The innermost loop of products of matrices on the host, for the widest registers of this machine.
#pragma once

#include <cstdint>

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

}  // namespace axle
