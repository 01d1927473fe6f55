// The loops use instruction sets that the rest of the program does not assume. A loop is only
// called if the processor supports its instruction set. The factors come from volatile memory, so
// that the compiler cannot compute the results in advance.
#include "targets/multiply_add.h"

#include <type_traits>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace axle {
namespace {

// Two units with a latency of 4 or 5 need up to ten independent sums to stay busy. Twelve fit into
// 16 registers.
constexpr int kSums = 12;

volatile float factor_f32 = 0.999f, addend_f32 = 0.001f;
volatile double factor_f64 = 0.999, addend_f64 = 0.001;
volatile double sink;

// Returns factor and addend for f32 or f64.
template <class T>
std::pair<T, T> operands() {
  if constexpr (std::is_same_v<T, float>)
    return {factor_f32, addend_f32};
  else
    return {factor_f64, addend_f64};
}

// Always inlined: the calling function's attributes set the instruction set and optimisation level.
template <class T, int kBytes>
[[gnu::always_inline]] inline void multiply_add(int64_t iterations) {
  typedef T Vector [[gnu::vector_size(kBytes)]];
  const auto [factor, addend] = operands<T>();
  const Vector factors = factor + Vector{}, addends = addend + Vector{};
  Vector sums[kSums];
  for (Vector& sum : sums) sum = addends;
  for (int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 12
    for (Vector& sum : sums) sum = sum * factors + addends;
  }
  for (const Vector& sum : sums) sink = sink + static_cast<double>(sum[0]);
}

#if defined(__x86_64__)

// optimize("O3"): debug builds must measure the processor too, not their own stores to memory.
[[gnu::target("avx512f"), gnu::optimize("O3")]] void avx512_f32(int64_t n) {
  multiply_add<float, 64>(n);
}
[[gnu::target("avx512f"), gnu::optimize("O3")]] void avx512_f64(int64_t n) {
  multiply_add<double, 64>(n);
}
[[gnu::target("avx2,fma"), gnu::optimize("O3")]] void avx2_f32(int64_t n) {
  multiply_add<float, 32>(n);
}
[[gnu::target("avx2,fma"), gnu::optimize("O3")]] void avx2_f64(int64_t n) {
  multiply_add<double, 32>(n);
}
[[gnu::target("sse2"), gnu::optimize("O3")]] void sse_f32(int64_t n) { multiply_add<float, 16>(n); }
[[gnu::target("sse2"), gnu::optimize("O3")]] void sse_f64(int64_t n) {
  multiply_add<double, 16>(n);
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

/// One tile instruction adds the product of 16 x 32 and 32 x 16 bf16 values to a tile of 16 x 16
/// sums.
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

/// True if this process may use the tile registers. Linux grants them only on request.
bool may_use_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  static const bool granted = __builtin_cpu_supports("amx-bf16") &&
                              ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return granted;
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

void portable_f32(int64_t n) { multiply_add<float, 16>(n); }
void portable_f64(int64_t n) { multiply_add<double, 16>(n); }

std::vector<MultiplyAddLoop> loops_of_this_processor(DType dtype) {
  if (dtype == DType::kF64) return {{"portable", portable_f64, 2.0 * kSums * 2}};
  return {{"portable", portable_f32, 2.0 * kSums * 4}};
}

#endif

}  // namespace

std::vector<MultiplyAddLoop> multiply_add_loops(DType dtype) {
  return loops_of_this_processor(dtype);
}

}  // namespace axle
