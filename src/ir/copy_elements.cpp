#include "ir/copy_elements.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/parallel.h"

namespace axle {
namespace {

// A row of a square that is transposed in registers.
template <class T>
struct SquareRow {
  typedef T Lanes __attribute__((vector_size(16)));
  static constexpr int64_t kSize = 16 / sizeof(T);
  Lanes lanes;
};

// Returns the elements of both rows in turn: those of their first halves, and of their second.
template <class T, size_t... I>
std::array<SquareRow<T>, 2> interleaved(SquareRow<T> a, SquareRow<T> b, std::index_sequence<I...>) {
  constexpr size_t kSize = sizeof...(I);
  return {SquareRow<T>{__builtin_shufflevector(a.lanes, b.lanes, (I / 2 + I % 2 * kSize)...)},
          SquareRow<T>{
              __builtin_shufflevector(a.lanes, b.lanes, ((kSize + I) / 2 + I % 2 * kSize)...)}};
}

// to[r][c] = from[c][r] for a square. Each round makes neighbours of rows that are half of the
// square apart; after as many rounds as a row number has bits, each row is a column.
template <class T>
void transpose_square(const T* from, int64_t stride, T* to, int64_t to_stride) {
  constexpr int64_t kSize = SquareRow<T>::kSize;
  constexpr std::make_index_sequence<kSize> kAll;
  std::array<SquareRow<T>, kSize> rows, next;
  for (int64_t i = 0; i < kSize; ++i)
    std::memcpy(&rows[i], from + i * stride, sizeof(SquareRow<T>));
#pragma GCC unroll 4
  for (int64_t round = 1; round < kSize; round *= 2) {
#pragma GCC unroll 8
    for (int64_t i = 0; i < kSize / 2; ++i) {
      const auto [first, second] = interleaved(rows[i], rows[i + kSize / 2], kAll);
      next[2 * i] = first;
      next[2 * i + 1] = second;
    }
    rows = next;
  }
  for (int64_t i = 0; i < kSize; ++i)
    std::memcpy(to + i * to_stride, &rows[i], sizeof(SquareRow<T>));
}

// to[r][c] = from[c][r] for r and c within the ranges.
template <class T>
void transpose_block(const T* from, int64_t stride, int64_t r0, int64_t r1, int64_t c0, int64_t c1,
                     T* to, int64_t to_stride) {
  constexpr int64_t kSize = SquareRow<T>::kSize;
  const int64_t r_end = r0 + (r1 - r0) / kSize * kSize, c_end = c0 + (c1 - c0) / kSize * kSize;
  const auto one_by_one = [&](int64_t r_first, int64_t r_last, int64_t c_first, int64_t c_last) {
    for (int64_t r = r_first; r < r_last; ++r)
      for (int64_t c = c_first; c < c_last; ++c) to[r * to_stride + c] = from[c * stride + r];
  };
  for (int64_t c = c0; c < c_end; c += kSize)
    for (int64_t r = r0; r < r_end; r += kSize)
      transpose_square(from + c * stride + r, stride, to + r * to_stride + c, to_stride);
  one_by_one(r_end, r1, c0, c_end);
  one_by_one(r0, r1, c_end, c1);
}

// The strides are the elements of a row of the whole matrices. Blocks keep both sides in the cache.
template <class T>
void copy_matrix(const T* from, int64_t stride, bool transpose, int64_t rows, int64_t columns,
                 T* to, int64_t to_stride) {
  constexpr int64_t kBlock = 32;
  parallel_for((rows + kBlock - 1) / kBlock, 1 + (1 << 16) / (kBlock * (columns + 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t r0 = begin * kBlock; r0 < std::min(end * kBlock, rows);
                      r0 += kBlock) {
                   const int64_t r1 = std::min(r0 + kBlock, rows);
                   if (!transpose) {
                     for (int64_t r = r0; r < r1; ++r)
                       std::memcpy(to + r * to_stride, from + r * stride,
                                   static_cast<size_t>(columns) * sizeof(T));
                     continue;
                   }
                   for (int64_t c0 = 0; c0 < columns; c0 += kBlock)
                     transpose_block(from, stride, r0, r1, c0, std::min(c0 + kBlock, columns), to,
                                     to_stride);
                 }
               });
}

}  // namespace

void copy_elements(const HostTensor& source, MatrixWindow from, bool transpose, int64_t rows,
                   int64_t columns, HostTensor& target, MatrixWindow to) {
  const auto copy = [&](auto zero) {
    using T = decltype(zero);
    copy_matrix(source.elements<T>().data() + from.offset, from.stride, transpose, rows, columns,
                target.elements<T>().data() + to.offset, to.stride);
  };
  switch (size_bytes(target.dtype())) {
    case 1:
      return copy(uint8_t{});
    case 2:
      return copy(uint16_t{});
    case 4:
      return copy(uint32_t{});
    default:
      return copy(uint64_t{});
  }
}

}  // namespace axle
