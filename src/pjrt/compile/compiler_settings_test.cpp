#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "pjrt/compile/compile_options.h"
#include "pjrt/plugin/plugin_policy.h"

namespace axle {
namespace {

using ::testing::Contains;
using ::testing::Not;
using ::testing::Pair;

Topology topology(const std::string& platform, const std::string& kind, int64_t num_slices = 1) {
  Topology out{.platform = platform};
  for (int64_t s = 0; s < num_slices; ++s)
    out.devices.push_back({.id = s, .kind = kind, .slice = s});
  return out;
}

TEST(CompilerSettings, EveryRowIsWholeAndOfAKnownPlatform) {
  std::set<std::string> platforms;
  for (const auto& policy : plugin_policies()) platforms.insert(policy.platform);
  std::set<std::string> seen;
  for (const auto& row : compiler_settings()) {
    EXPECT_TRUE(platforms.contains(row.platform)) << row.name;
    EXPECT_FALSE(row.name.empty() || row.value.empty() || row.why.empty()) << row.name;
    EXPECT_TRUE(seen.insert(row.platform + row.device_kind + row.name).second) << row.name;
  }
}

TEST(CompilerSettings, CpuHasNone) {
  EXPECT_TRUE(settings_for(topology("cpu", "cpu"), DevicePresence::kPresent).empty());
  EXPECT_TRUE(settings_for({.platform = "tpu"}, DevicePresence::kPresent).empty());
}

TEST(CompilerSettings, TpuGenerationsHaveTheirOwn) {
  const auto v5p = settings_for(topology("tpu", "TPU v5"), DevicePresence::kDescribed);
  const auto v6e = settings_for(topology("tpu", "TPU v6 lite"), DevicePresence::kDescribed);
  EXPECT_THAT(v5p, Contains(Pair("xla_tpu_enable_latency_hiding_scheduler", "true")));
  EXPECT_THAT(v6e, Contains(Pair("xla_tpu_enable_latency_hiding_scheduler", "true")));
  EXPECT_THAT(v6e, Contains(Pair("xla_tpu_scoped_vmem_limit_kib", "98304")));
  EXPECT_THAT(v5p, Not(Contains(Pair("xla_tpu_scoped_vmem_limit_kib", "98304"))));
}

TEST(CompilerSettings, SlicesHaveTheirOwn) {
  const Setting between = {"xla_tpu_enable_megascale_barrier", "true"};
  EXPECT_THAT(settings_for(topology("tpu", "TPU v5", 2), DevicePresence::kPresent),
              Contains(between));
  EXPECT_THAT(settings_for(topology("tpu", "TPU v5"), DevicePresence::kPresent),
              Not(Contains(between)));
}

TEST(CompilerSettings, AbsentDevicesAreNotMeasured) {
  const Setting no_measuring = {"xla_gpu_autotune_level", "0"};
  const auto h100 = topology("cuda", "NVIDIA H100 80GB HBM3");
  EXPECT_THAT(settings_for(h100, DevicePresence::kDescribed), Contains(no_measuring));
  EXPECT_THAT(settings_for(h100, DevicePresence::kPresent), Not(Contains(no_measuring)));
}

}  // namespace
}  // namespace axle
