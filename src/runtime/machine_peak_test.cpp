#include "runtime/machine_peak.h"

#include <gtest/gtest.h>

#include <fstream>

#include "testing/temp_dir.h"

namespace axle {
namespace {

TEST(MachinePeak, CpuIsMeasuredOncePerDType) {
  const Topology cpu{.platform = "cpu", .devices = {{.kind = "cpu"}, {.kind = "cpu"}}};
  const auto f32 = machine_peak(cpu, DType::kF32), f64 = machine_peak(cpu, DType::kF64),
             bf16 = machine_peak(cpu, DType::kBF16);
  // Wide bounds: only a loop that was optimised away or a wrong unit leaves them.
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
  EXPECT_EQ(peak_flops(gpus, DType::kBF16), 2 * 989.4e12);
  EXPECT_EQ(machine_peak(gpus, DType::kBF16).source, "published: H100");
  EXPECT_EQ(peak_flops({.platform = "tpu", .devices = {{.kind = "TPU v5 lite"}}}, DType::kBF16),
            197e12);
  EXPECT_EQ(peak_flops({.platform = "tpu", .devices = {{.kind = "TPU v5"}}}, DType::kBF16), 459e12);
}

TEST(MachinePeak, AMeasurementIsRememberedUnderItsKey) {
  const TempDir dir;
  const auto note = dir.path() / "below" / "peak.txt";
  int measured = 0;
  const auto peak = [&](const std::string& key) {
    return detail::remembered_peak(note, key, [&] {
      ++measured;
      return Peak{1.5e9 * measured, "measured: in a test"};
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
  // Where nothing can be kept, nothing is.
  EXPECT_GT(detail::remembered_peak("/proc/peak.txt", "a", [] { return Peak{1, ""}; }).flops, 0);
  EXPECT_GT(detail::remembered_peak("peak.txt", "a", [] { return Peak{1, ""}; }).flops, 0);
  EXPECT_FALSE(std::filesystem::exists("peak.txt"));
}

TEST(MachinePeak, UnknownIsZero) {
  EXPECT_EQ(peak_flops({.platform = "tpu", .devices = {{.kind = "TPU v99"}}}, DType::kBF16), 0);
  EXPECT_EQ(peak_flops({.platform = "cuda"}, DType::kBF16), 0);
  EXPECT_EQ(peak_flops({.platform = "cpu"}, DType::kI32), 0);
}

}  // namespace
}  // namespace axle
