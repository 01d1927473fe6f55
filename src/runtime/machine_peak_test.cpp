#include "runtime/machine_peak.h"

#include <gtest/gtest.h>

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

TEST(MachinePeak, UnknownIsZero) {
  EXPECT_EQ(peak_flops({.platform = "tpu", .devices = {{.kind = "TPU v99"}}}, DType::kBF16), 0);
  EXPECT_EQ(peak_flops({.platform = "cuda"}, DType::kBF16), 0);
  EXPECT_EQ(peak_flops({.platform = "cpu"}, DType::kI32), 0);
}

}  // namespace
}  // namespace axle
