// The loops are compiled for instruction sets that the rest of the program does not assume; each is
// only reached after asking the processor. Factors come from volatile memory so that no compiler
// can work the results out.
#include "runtime/multiply_add.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace axle {
namespace {

// Two units of latency 4 or 5 each need at least ten independent sums to be kept busy; 16 registers
// hold twelve.
constexpr int kSums = 12;

volatile float factor_f32 = 0.999f, addend_f32 = 0.001f;
volatile double factor_f64 = 0.999, addend_f64 = 0.001;
volatile double sink;

#if defined(__x86_64__)

// optimize("O3"): debug builds must measure the processor too, not their own stores to memory.

[[gnu::target("avx512f"), gnu::optimize("O3")]] void avx512_f32(int64_t iterations) {
  __m512 sums[kSums];
  for (auto& sum : sums) sum = _mm512_set1_ps(addend_f32);
  const __m512 factor = _mm512_set1_ps(factor_f32), addend = _mm512_set1_ps(addend_f32);
  for (int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 12
    for (int s = 0; s < kSums; ++s) sums[s] = _mm512_fmadd_ps(sums[s], factor, addend);
  }
  for (const auto& sum : sums) sink = sink + static_cast<double>(_mm512_cvtss_f32(sum));
}

[[gnu::target("avx512f"), gnu::optimize("O3")]] void avx512_f64(int64_t iterations) {
  __m512d sums[kSums];
  for (auto& sum : sums) sum = _mm512_set1_pd(addend_f64);
  const __m512d factor = _mm512_set1_pd(factor_f64), addend = _mm512_set1_pd(addend_f64);
  for (int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 12
    for (int s = 0; s < kSums; ++s) sums[s] = _mm512_fmadd_pd(sums[s], factor, addend);
  }
  for (const auto& sum : sums) sink = sink + _mm512_cvtsd_f64(sum);
}

[[gnu::target("avx512f,avx512bf16"), gnu::optimize("O3")]] void avx512_bf16(int64_t iterations) {
  __m512 sums[kSums];
  for (auto& sum : sums) sum = _mm512_set1_ps(addend_f32);
  const __m512 value = _mm512_set1_ps(addend_f32);
  const __m512bh a = _mm512_cvtne2ps_pbh(value, value), b = _mm512_cvtne2ps_pbh(value, value);
  for (int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 12
    for (int s = 0; s < kSums; ++s) sums[s] = _mm512_dpbf16_ps(sums[s], a, b);
  }
  for (const auto& sum : sums) sink = sink + static_cast<double>(_mm512_cvtss_f32(sum));
}

/// A tile of 16 x 16 sums grows by the product of 16 x 32 and 32 x 16 values of bf16.
constexpr double kFlopsOfTileProduct = 2.0 * 16 * 16 * 32;
constexpr int kTileSums = 4;

[[gnu::target("amx-tile,amx-bf16"), gnu::optimize("O3")]] void amx_bf16(int64_t iterations) {
  struct alignas(64) {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16};
  } shape;
  alignas(64) float block[16 * 16] = {};
  _tile_loadconfig(&shape);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_loadd(4, block, 64);
  _tile_loadd(5, block, 64);
  for (int64_t i = 0; i < iterations; ++i) {
    _tile_dpbf16ps(0, 4, 5);
    _tile_dpbf16ps(1, 4, 5);
    _tile_dpbf16ps(2, 4, 5);
    _tile_dpbf16ps(3, 4, 5);
  }
  _tile_stored(0, block, 64);
  sink = sink + static_cast<double>(block[0]);
  _tile_release();
}

/// Linux gives the tiles' registers only to processes that ask for them.
bool may_use_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  static const bool granted = __builtin_cpu_supports("amx-bf16") &&
                              ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return granted;
}

[[gnu::target("avx2,fma"), gnu::optimize("O3")]] void avx2_f32(int64_t iterations) {
  __m256 sums[kSums];
  for (auto& sum : sums) sum = _mm256_set1_ps(addend_f32);
  const __m256 factor = _mm256_set1_ps(factor_f32), addend = _mm256_set1_ps(addend_f32);
  for (int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 12
    for (int s = 0; s < kSums; ++s) sums[s] = _mm256_fmadd_ps(sums[s], factor, addend);
  }
  for (const auto& sum : sums) sink = sink + static_cast<double>(_mm256_cvtss_f32(sum));
}

[[gnu::target("avx2,fma"), gnu::optimize("O3")]] void avx2_f64(int64_t iterations) {
  __m256d sums[kSums];
  for (auto& sum : sums) sum = _mm256_set1_pd(addend_f64);
  const __m256d factor = _mm256_set1_pd(factor_f64), addend = _mm256_set1_pd(addend_f64);
  for (int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 12
    for (int s = 0; s < kSums; ++s) sums[s] = _mm256_fmadd_pd(sums[s], factor, addend);
  }
  for (const auto& sum : sums) sink = sink + _mm256_cvtsd_f64(sum);
}

[[gnu::target("sse2"), gnu::optimize("O3")]] void sse_f32(int64_t iterations) {
  __m128 sums[kSums];
  for (auto& sum : sums) sum = _mm_set1_ps(addend_f32);
  const __m128 factor = _mm_set1_ps(factor_f32), addend = _mm_set1_ps(addend_f32);
  for (int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 12
    for (int s = 0; s < kSums; ++s) sums[s] = _mm_add_ps(_mm_mul_ps(sums[s], factor), addend);
  }
  for (const auto& sum : sums) sink = sink + static_cast<double>(_mm_cvtss_f32(sum));
}

[[gnu::target("sse2"), gnu::optimize("O3")]] void sse_f64(int64_t iterations) {
  __m128d sums[kSums];
  for (auto& sum : sums) sum = _mm_set1_pd(addend_f64);
  const __m128d factor = _mm_set1_pd(factor_f64), addend = _mm_set1_pd(addend_f64);
  for (int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 12
    for (int s = 0; s < kSums; ++s) sums[s] = _mm_add_pd(_mm_mul_pd(sums[s], factor), addend);
  }
  for (const auto& sum : sums) sink = sink + _mm_cvtsd_f64(sum);
}

std::vector<MultiplyAddLoop> loops_of_this_processor(DType dtype) {
  const bool is_f64 = dtype == DType::kF64;
  const double flops = 2.0 * kSums, lanes = is_f64 ? 0.5 : 1.0;
  std::vector<MultiplyAddLoop> out;
  if (dtype == DType::kBF16) {
    if (may_use_tiles()) return {{"AMX BF16", amx_bf16, kTileSums * kFlopsOfTileProduct}};
    if (__builtin_cpu_supports("avx512bf16"))
      out.push_back({"AVX-512 BF16", avx512_bf16, 32 * flops});
  }
  if (__builtin_cpu_supports("avx512f")) {
    out.push_back({"AVX-512", is_f64 ? avx512_f64 : avx512_f32, 16 * lanes * flops});
  } else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    out.push_back({"AVX2", is_f64 ? avx2_f64 : avx2_f32, 8 * lanes * flops});
  } else {
    out.push_back({"SSE2", is_f64 ? sse_f64 : sse_f32, 4 * lanes * flops});
  }
  return out;
}

#else

/// Plain loops; the compiler uses what vectors the target has.
template <class T>
void portable(int64_t iterations) {
  constexpr int kLanes = kSums * static_cast<int>(16 / sizeof(T));
  const T factor = sizeof(T) == 4 ? T(factor_f32) : T(factor_f64),
          addend = sizeof(T) == 4 ? T(addend_f32) : T(addend_f64);
  T sums[kLanes];
  for (T& sum : sums) sum = addend;
  for (int64_t i = 0; i < iterations; ++i) {
    for (T& sum : sums) sum = sum * factor + addend;
  }
  for (T sum : sums) sink = sink + double(sum);
}

std::vector<MultiplyAddLoop> loops_of_this_processor(DType dtype) {
  if (dtype == DType::kF64) return {{"portable", portable<double>, 2.0 * kSums * 2}};
  return {{"portable", portable<float>, 2.0 * kSums * 4}};
}

#endif

}  // namespace

std::vector<MultiplyAddLoop> multiply_add_loops(DType dtype) {
  return loops_of_this_processor(dtype);
}

}  // namespace axle
