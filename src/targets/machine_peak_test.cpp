#include "targets/machine_peak.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "testing/temp_dir.h"

namespace axle {
namespace {

TEST(MachinePeak, CpuIsMeasuredOncePerDType) {
  const Topology cpu{.platform = "cpu", .devices = {{.kind = "cpu"}, {.kind = "cpu"}}};
  const auto f32 = machine_peak(cpu, DType::kF32), f64 = machine_peak(cpu, DType::kF64),
             bf16 = machine_peak(cpu, DType::kBF16);
  // The bounds are wide: only a loop that was optimised away or a wrong unit exceeds them.
  for (const auto& peak : {f32, f64, bf16}) {
    EXPECT_GT(peak.flops, 1e8);
    EXPECT_LT(peak.flops, 1e15);
    EXPECT_TRUE(peak.source.starts_with("measured: ")) << peak.source;
  }
  EXPECT_EQ(machine_peak(cpu, DType::kF32).flops, f32.flops);
}

TEST(MachinePeak, PublishedFiguresCountDevices) {
  const Topology gpus{
      .platform = "cuda",
      .devices = {{.kind = "NVIDIA H100 80GB HBM3"}, {.kind = "NVIDIA H100 80GB HBM3"}}};
  EXPECT_EQ(machine_peak(gpus, DType::kBF16).flops, 2 * 989.4e12);
  EXPECT_EQ(machine_peak(gpus, DType::kBF16).source, "published: H100");
  EXPECT_EQ(
      machine_peak({.platform = "tpu", .devices = {{.kind = "TPU v5 lite"}}}, DType::kBF16).flops,
      197e12);
  EXPECT_EQ(machine_peak({.platform = "tpu", .devices = {{.kind = "TPU v5"}}}, DType::kBF16).flops,
            459e12);
}

TEST(MachinePeak, AMeasurementIsRememberedUnderItsKey) {
  const TempDir dir;
  const auto note = dir.path() / "below" / "peak.txt";
  int measured = 0;
  const auto peak = [&](const std::string& key) {
    return detail::cached_peak(note, key, [&] {
      ++measured;
      return detail::MeasuredPeak{{1.5e9 * measured, "measured: in a test"}};
    });
  };
  EXPECT_EQ(peak("a").flops, 1.5e9);
  EXPECT_EQ(peak("a").flops, 1.5e9);
  EXPECT_EQ(peak("a").source, "measured: in a test");
  EXPECT_EQ(peak("b").flops, 3e9);
  for (const char* damaged : {"", "b\n", "b\nx\nmeasured\n", "b\n-1\nmeasured\n", "b\n3e9\n"}) {
    const int before = measured;
    std::ofstream(note) << damaged;
    peak("b");
    EXPECT_EQ(measured, before + 1) << damaged;
  }
  // A note that can't be written is skipped without an error.
  const auto one = [] { return detail::MeasuredPeak{{1, ""}}; };
  EXPECT_GT(detail::cached_peak("/proc/peak.txt", "a", one).flops, 0);
  EXPECT_GT(detail::cached_peak("peak.txt", "a", one).flops, 0);
  EXPECT_FALSE(std::filesystem::exists("peak.txt"));
}

TEST(MachinePeak, NotesThatAreNotFilesAreIgnored) {
  const TempDir dir;
  const auto measure = [] { return detail::MeasuredPeak{{1e9, "measured: in a test"}}; };
  const auto flops = [&](const std::filesystem::path& note) {
    return detail::cached_peak(note, "a", measure).flops;
  };
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  std::filesystem::create_directory(dir / "folder");
  EXPECT_EQ(flops(dir / "fifo"), 1e9);
  EXPECT_EQ(flops(dir / "folder"), 1e9);
  EXPECT_EQ(flops("/dev/zero"), 1e9);
}

TEST(MachinePeak, FastestRunOfEachCoreCounts) {
  using Runs = std::vector<std::vector<detail::CoreRun>>;
  const auto peak = [](const Runs& runs) { return detail::sum_fastest_runs(runs, "loop"); };
  const detail::CoreRun whole{.flops = 10, .wall_secs = 2, .cpu_secs = 2},
      slow{.flops = 10, .wall_secs = 4, .cpu_secs = 4},
      half{.flops = 10, .wall_secs = 2, .cpu_secs = 1},
      slow_half{.flops = 10, .wall_secs = 4, .cpu_secs = 2};
  const detail::MeasuredPeak alone = peak({{slow, whole, slow_half}, {whole}});
  EXPECT_EQ(alone.peak.flops, 10);
  EXPECT_EQ(alone.peak.source, "measured: loop on 2 cores");
  EXPECT_FALSE(alone.is_shared);
  // First, the best run of a core had half of the core; second, a core had no run.
  for (const Runs& runs : {Runs{{whole}, {half, slow}}, Runs{{whole}, {}}}) {
    EXPECT_TRUE(peak(runs).is_shared);
  }
  EXPECT_EQ(peak({{whole}, {half}}).peak.flops, 15) << "by the time that the loop had the core";
}

TEST(MachinePeak, SharedMeasurementIsNotStoredAndTheLargerOfTwoIs) {
  const TempDir dir;
  const auto note = dir.path() / "peak.txt";
  const auto measured = [](double flops, bool is_shared) {
    return [=] { return detail::MeasuredPeak{{flops, "measured: in a test"}, is_shared}; };
  };
  const Peak shared = detail::cached_peak(note, "a", measured(1, true));
  EXPECT_EQ(shared.flops, 1);
  EXPECT_EQ(shared.source, "measured: in a test, beside other work, so perhaps too low");
  EXPECT_FALSE(std::filesystem::exists(note));
  EXPECT_EQ(detail::cached_peak(note, "a", measured(2, false)).flops, 2);
  EXPECT_EQ(detail::cached_peak(note, "a", measured(3, false)).flops, 2);  // from the note

  // Another process writes while this one measures.
  for (const auto& [other, own] : {std::pair{5.0, 4.0}, std::pair{4.0, 5.0}}) {
    std::filesystem::remove(note);
    const auto meanwhile = [&, other = other, own = own] {
      detail::cached_peak(note, "a", measured(other, false));
      return measured(own, false)();
    };
    EXPECT_EQ(detail::cached_peak(note, "a", meanwhile).flops, 5);
    EXPECT_EQ(detail::cached_peak(note, "a", measured(1, false)).flops, 5);
  }
}

TEST(MachinePeak, UnknownDevicesHaveZeroPeak) {
  EXPECT_EQ(machine_peak({.platform = "tpu", .devices = {{.kind = "TPU v99"}}}, DType::kBF16).flops,
            0);
  EXPECT_EQ(machine_peak({.platform = "cuda"}, DType::kBF16).flops, 0);
  EXPECT_EQ(machine_peak({.platform = "cpu"}, DType::kI32).flops, 0);
}

}  // namespace
}  // namespace axle
