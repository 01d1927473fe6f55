#include "targets/machine_peak.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/folders.h"
#include "base/parallel.h"
#include "base/process_start.h"
#include "base/version.h"
#include "io/file.h"
#include "targets/target.h"

// The loops use instruction sets that the rest of the program does not assume. A loop is only
// called if the processor supports its instruction set. The factors come from volatile memory, so
// that the compiler cannot compute the results in advance.

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

namespace {

using detail::CoreRun;
using detail::MeasuredPeak;

constexpr double kWarmUpSecs = 0.01;  // for the clock rate to rise and wide units to power up
constexpr double kMeasureSecs = 0.02;
constexpr int kMeasurements = 3;
constexpr int64_t kBurst = 4096;  // iterations between two clock readings: some microseconds

double cpu_secs_of_thread() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

CoreRun run_for(const MultiplyAddLoop& loop, double secs) {
  const auto start = Clock::now();
  const double cpu_start = cpu_secs_of_thread();
  CoreRun out;
  int64_t iterations = 0;
  do {
    loop.run(kBurst);
    iterations += kBurst;
    out.wall_secs = seconds_since(start);
  } while (out.wall_secs < secs);
  out.cpu_secs = cpu_secs_of_thread() - cpu_start;
  out.flops = static_cast<double>(iterations) * loop.flops_per_iteration;
  return out;
}

/// Runs the loop a few times on each core, on all cores at the same time.
std::vector<std::vector<CoreRun>> measure(const MultiplyAddLoop& loop, unsigned num_cores) {
  std::vector<std::vector<CoreRun>> by_core(num_cores);
  for (auto& runs : by_core) runs.reserve(kMeasurements);  // nothing may throw in a thread
  std::vector<std::thread> threads;
  threads.reserve(num_cores);
  const auto measure_core = [&](unsigned i) {
    run_for(loop, kWarmUpSecs);
    for (int m = 0; m < kMeasurements; ++m) by_core[i].push_back(run_for(loop, kMeasureSecs));
  };
  for (unsigned i = 1; i < num_cores; ++i) {
    if (!try_start(threads.emplace_back(), [&, i] { measure_core(i); })) threads.pop_back();
  }
  measure_core(0);
  for (auto& thread : threads) thread.join();
  return by_core;
}

// The key under which a measurement is stored: everything that it depends on.
std::string machine_key(DType dtype, unsigned num_cores) {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  return fmt::format("{} {} cores boot {} axle {}", to_text(dtype), num_cores, boot, version());
}

MeasuredPeak measure(DType dtype, unsigned num_cores) {
  MeasuredPeak best;
  for (const auto& loop : multiply_add_loops(dtype)) {
    MeasuredPeak measured = detail::sum_fastest_runs(measure(loop, num_cores), loop.name);
    best.is_shared |= measured.is_shared;  // undisturbed, this loop might have been the fastest
    if (measured.peak.flops > best.peak.flops) best.peak = std::move(measured.peak);
  }
  return best;
}

Peak measured_peak(DType dtype) {
  static std::mutex mutex;
  static std::map<DType, Peak> known;
  const std::lock_guard lock(mutex);
  auto [entry, is_new] = known.try_emplace(dtype);
  if (is_new) {
    const unsigned num_cores = std::max(1u, std::thread::hardware_concurrency());
    entry->second = detail::cached_peak(
        user_cache_folder() / fmt::format("peak_{}.txt", to_text(dtype)),
        machine_key(dtype, num_cores), [&] { return measure(dtype, num_cores); });
  }
  return entry->second;
}

std::optional<Peak> read_note(const std::filesystem::path& note, const std::string& key) {
  constexpr int64_t kMaxBytes = 4096;
  Peak peak;
  std::string known;
  std::istringstream text;
  try {
    text.str(read_file(note, kMaxBytes));
  } catch (const Error&) {
    return std::nullopt;
  }
  if (std::getline(text, known) && known == key && text >> peak.flops >> std::ws &&
      std::getline(text, peak.source) && peak.flops > 0)
    return peak;
  return std::nullopt;
}

/// Published FLOP/s of dense products; 0: not published. The figures for f32 and f64 do not use
/// tensor cores of reduced precision.
struct Published {
  std::string_view kind;  // a substring of the device kind
  double bf16, f32, f64;
};

const std::vector<Published>& published_peaks() {
  static const auto bf16_of = [](std::string_view name) {
    return find_accelerator(name)->peak_bf16_flops;
  };
  // More specific kinds first.
  static const std::vector<Published> rows = {
      {"B200", bf16_of("b200"), 75e12, 37e12},
      {"H200", bf16_of("h200"), 66.9e12, 33.5e12},
      {"H100 PCIe", 756e12, 51e12, 26e12},
      {"H100", bf16_of("h100"), 66.9e12, 33.5e12},
      {"A100", bf16_of("a100"), 19.5e12, 9.7e12},
      {"MI300X", bf16_of("mi300x"), 163.4e12, 81.7e12},
      {"TPU v4", bf16_of("v4"), 0, 0},
      {"TPU v5 lite", bf16_of("v5e"), 0, 0},
      {"TPU v5e", bf16_of("v5e"), 0, 0},
      {"TPU v5", bf16_of("v5p"), 0, 0},
      {"TPU v6 lite", bf16_of("v6e"), 0, 0},
      {"TPU v6e", bf16_of("v6e"), 0, 0},
  };
  return rows;
}

}  // namespace

MeasuredPeak detail::sum_fastest_runs(const std::vector<std::vector<CoreRun>>& by_core,
                                      std::string_view what) {
  constexpr double kMinShare = 0.95;
  // What other work takes of the core is no time of the loop.
  const auto speed = [](const CoreRun& run) {
    return run.flops / (run.cpu_secs > 0 ? std::min(run.cpu_secs, run.wall_secs) : run.wall_secs);
  };
  MeasuredPeak out;
  for (const auto& runs : by_core) {
    const auto best = std::ranges::max_element(runs, {}, speed);
    if (best == runs.end()) {
      out.is_shared = true;
      continue;
    }
    out.peak.flops += speed(*best);
    out.is_shared |= best->cpu_secs < kMinShare * best->wall_secs;
  }
  out.peak.source = fmt::format("measured: {} on {} cores", what, by_core.size());
  return out;
}

Peak detail::cached_peak(const std::filesystem::path& note, const std::string& key,
                         const std::function<MeasuredPeak()>& measure) {
  if (const auto known = read_note(note, key)) return *known;
  MeasuredPeak measured = measure();
  // Another process may have measured meanwhile.
  const auto known = read_note(note, key);
  if (known && known->flops >= measured.peak.flops) return *known;
  if (measured.is_shared) measured.peak.source += ", beside other work, so perhaps too low";
  // A relative path means that the user has no cache folder.
  if (measured.is_shared || !note.is_absolute()) return measured.peak;
  try {
    make_directories(note.parent_path());
    replace_file(note, fmt::format("{}\n{}\n{}\n", key, measured.peak.flops, measured.peak.source));
  } catch (const StorageError&) {
    // The next start measures again.
  }
  return measured.peak;
}

Peak machine_peak(const Topology& topology, DType dtype) {
  if (!is_float(dtype)) return {};
  if (topology.platform == "cpu" || topology.platform == "interpreter") return measured_peak(dtype);
  if (topology.devices.empty()) return {};
  for (const auto& row : published_peaks()) {
    if (topology.devices[0].kind.find(row.kind) == std::string::npos) continue;
    const double one = dtype == DType::kBF16 ? row.bf16 : dtype == DType::kF32 ? row.f32 : row.f64;
    if (one == 0) return {};
    return {one * static_cast<double>(topology.devices.size()),
            fmt::format("published: {}", row.kind)};
  }
  return {};
}

}  // namespace axle
