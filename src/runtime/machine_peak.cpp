#include "runtime/machine_peak.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "base/cache_folder.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/threads.h"
#include "base/version.h"
#include "io/file.h"
#include "runtime/multiply_add.h"
#include "runtime/target.h"

namespace axle {
namespace {

constexpr double kWarmUpSecs = 0.01;  // clocks rise, wide units wake up
constexpr double kMeasureSecs = 0.02;
constexpr int kMeasurements = 3;
constexpr int64_t kBurst = 4096;  // iterations between two looks at the clock: some microseconds

double run_for(const MultiplyAddLoop& loop, double secs) {
  const auto start = Clock::now();
  int64_t iterations = 0;
  double elapsed = 0;
  do {
    loop.run(kBurst);
    iterations += kBurst;
    elapsed = seconds_since(start);
  } while (elapsed < secs);
  return static_cast<double>(iterations) * loop.flops_per_iteration / elapsed;
}

/// Sum over the cores of the best of a few measurements, all cores busy at once.
double measure(const MultiplyAddLoop& loop, unsigned num_cores) {
  std::vector<double> best(num_cores);
  std::vector<std::thread> threads;
  const auto measure_core = [&](unsigned i) {
    run_for(loop, kWarmUpSecs);
    for (int m = 0; m < kMeasurements; ++m)
      best[i] = std::max(best[i], run_for(loop, kMeasureSecs));
  };
  for (unsigned i = 1; i < num_cores; ++i) {
    if (!try_start(threads.emplace_back(), [&, i] { measure_core(i); })) threads.pop_back();
  }
  measure_core(0);
  for (auto& thread : threads) thread.join();
  return std::accumulate(best.begin(), best.end(), 0.0);
}

// What a measurement depends on.
std::string machine_key(DType dtype, unsigned num_cores) {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  return fmt::format("{} {} cores boot {} axle {}", to_text(dtype), num_cores, boot, version());
}

Peak measure(DType dtype, unsigned num_cores) {
  Peak best;
  for (const auto& loop : multiply_add_loops(dtype)) {
    const double flops = measure(loop, num_cores);
    if (flops > best.flops)
      best = {flops, fmt::format("measured: {} on {} cores", loop.name, num_cores)};
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
    entry->second = detail::remembered_peak(
        user_cache_folder() / fmt::format("peak_{}.txt", to_text(dtype)),
        machine_key(dtype, num_cores), [&] { return measure(dtype, num_cores); });
  }
  return entry->second;
}

/// FLOP/s of dense products as published; f32 and f64 without reduced-precision tensor cores, 0
/// where nothing is published.
struct Published {
  std::string_view kind;  // a part of the device's kind
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

Peak detail::remembered_peak(const std::filesystem::path& note, const std::string& key,
                             const std::function<Peak()>& measure) {
  Peak peak;
  std::string known;
  std::ifstream file(note);
  if (std::getline(file, known) && known == key && file >> peak.flops >> std::ws &&
      std::getline(file, peak.source) && peak.flops > 0)
    return peak;
  peak = measure();
  if (!note.is_absolute()) return peak;  // no folder of the user's is known
  try {
    make_directories(note.parent_path());
    replace_file(note, fmt::format("{}\n{}\n{}\n", key, peak.flops, peak.source));
  } catch (const StorageError&) {
    // It only costs the next start another measurement.
  }
  return peak;
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
