#include <gtest/gtest.h>

#include "plan/compile_report.h"

namespace axle {
namespace {

// A target on which one FLOP, one byte of memory and one byte of each network take a second each.
Target target() {
  Accelerator a;
  a.platform = "tpu";
  a.peak_bf16_flops = a.memory_bandwidth = a.fast_network = a.slow_network = 1;
  return {.accelerator = a, .shape = {2}};
}

DeviceWork work(double compute, double memory) {
  return {
      .seconds = std::max(compute, memory), .compute_seconds = compute, .memory_seconds = memory};
}

CollectiveRow row(WireBytes wire, bool waits) {
  CollectiveRow out;
  out.waits = waits;
  out.wire = wire;
  return out;
}

TEST(StepEstimate, IsBoundByWhatTakesLongest) {
  const StepCounts size{.tokens = 100, .model_flops = 10};
  const auto compute = *estimate_step(work(10, 4), {row({3, 0}, false)}, target(), size);
  EXPECT_EQ(compute.bound, "compute");
  EXPECT_DOUBLE_EQ(compute.seconds, 10);
  EXPECT_DOUBLE_EQ(compute.tokens_per_second, 10);
  EXPECT_DOUBLE_EQ(compute.mfu, 10 / (10.0 * 2));

  EXPECT_EQ(estimate_step(work(4, 10), {}, target(), size)->bound, "memory");
  const auto fast = *estimate_step(work(4, 3), {row({9, 2}, false)}, target(), size);
  EXPECT_EQ(fast.bound, "network (fast)");
  EXPECT_DOUBLE_EQ(fast.seconds, 9);
  EXPECT_EQ(estimate_step(work(4, 3), {row({2, 9}, false)}, target(), size)->bound,
            "network (slow)");
}

TEST(StepEstimate, CollectivesWithoutOverlapAreAdded) {
  const auto e =
      *estimate_step(work(4, 3), {row({2, 1}, true), row({1, 0}, false)}, target(), StepCounts{});
  EXPECT_DOUBLE_EQ(e.waiting_seconds, 2);
  EXPECT_DOUBLE_EQ(e.seconds, 6);
  EXPECT_EQ(e.bound, "compute");
  EXPECT_EQ(estimate_step(work(4, 3), {row({5, 1}, true)}, target(), StepCounts{})->bound,
            "network (fast)");
}

TEST(StepEstimate, IsNotKnownWithoutRates) {
  EXPECT_FALSE(estimate_step(work(1, 1), {}, parse_target("cpu:8"), StepCounts{}));
  EXPECT_TRUE(estimate_step(work(1, 1), {}, parse_target("gpu:h100:1x8"), StepCounts{}));
}

}  // namespace
}  // namespace axle
