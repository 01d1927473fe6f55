#include "ops/products/dot_kernel.h"

// No fused multiply-add: it would round once where machines without it round twice. Sums stay in
// registers in debug builds, too.
#pragma GCC push_options
#pragma GCC optimize("O3", "fp-contract=off")

namespace axle {
namespace {

// `kRows` rows times the columns of two registers of `kBytes` bytes. Inlined into functions that
// are compiled for machines with such registers.
template <class T, int kBytes, int kRows>
[[gnu::always_inline]] inline void multiply_strips_at(const T* a, const T* b, int64_t depth, T* c,
                                                      int64_t stride) {
  typedef T V __attribute__((vector_size(kBytes)));
  // The same register in memory, anywhere.
  typedef T Stored __attribute__((vector_size(kBytes), aligned(alignof(T)), may_alias));
  constexpr int64_t kLanes = kBytes / sizeof(T);
  V left[kRows], right[kRows];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    left[r] = *reinterpret_cast<const Stored*>(c + r * stride);
    right[r] = *reinterpret_cast<const Stored*>(c + r * stride + kLanes);
  }
  for (int64_t i = 0; i < depth; ++i) {
    const V b_left = *reinterpret_cast<const Stored*>(b + i * 2 * kLanes),
            b_right = *reinterpret_cast<const Stored*>(b + (i * 2 + 1) * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      left[r] += a[i * kRows + r] * b_left;
      right[r] += a[i * kRows + r] * b_right;
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    *reinterpret_cast<Stored*>(c + r * stride) = left[r];
    *reinterpret_cast<Stored*>(c + r * stride + kLanes) = right[r];
  }
}

template <class T>
void multiply_16(const T* a, const T* b, int64_t depth, T* c, int64_t stride) {
  multiply_strips_at<T, 16, 4>(a, b, depth, c, stride);
}
template <class T>
constexpr DotKernel<T> kernel_16{4, 32 / sizeof(T), multiply_16<T>};

#ifdef __x86_64__
template <class T>
[[gnu::target("avx2")]] void multiply_32(const T* a, const T* b, int64_t depth, T* c,
                                         int64_t stride) {
  multiply_strips_at<T, 32, 6>(a, b, depth, c, stride);
}
template <class T>
constexpr DotKernel<T> kernel_32{6, 64 / sizeof(T), multiply_32<T>};

template <class T>
[[gnu::target("avx512f,avx512dq")]] void multiply_64(const T* a, const T* b, int64_t depth, T* c,
                                                     int64_t stride) {
  multiply_strips_at<T, 64, 8>(a, b, depth, c, stride);
}
template <class T>
constexpr DotKernel<T> kernel_64{8, 128 / sizeof(T), multiply_64<T>};
#endif

}  // namespace

template <class T>
const DotKernel<T>& dot_kernel() {
#ifdef __x86_64__
  static const DotKernel<T>& chosen =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") ? kernel_64<T>
      : __builtin_cpu_supports("avx2")                                        ? kernel_32<T>
                                                                              : kernel_16<T>;
  return chosen;
#else
  return kernel_16<T>;
#endif
}
template const DotKernel<float>& dot_kernel<float>();
template const DotKernel<double>& dot_kernel<double>();
template const DotKernel<uint32_t>& dot_kernel<uint32_t>();
template const DotKernel<uint64_t>& dot_kernel<uint64_t>();

}  // namespace axle

#pragma GCC pop_options
