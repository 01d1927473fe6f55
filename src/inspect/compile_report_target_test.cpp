// Small recipes compiled for TPUs and GPUs that are not here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inspect/compile_report.h"
#include "recipes/resolve.h"
#include "testing/error_of.h"
#include "testing/needs_plugin.h"

namespace axle {
namespace {

using testing::HasSubstr;

CompileReport report(const std::string& on, std::vector<Edit> edits = {}) {
  const Target target = parse_target(on);
  edits.insert(edits.begin(), SetField{"mesh", "data=-1,fsdp=2"});
  const Resolved resolved = resolve_config(
      {.recipe = "fuji-test-v1", .edits = std::move(edits), .machine = target.machine()});
  return compile_report(lower_step(resolved.config, "fuji-test-v1", target));
}

void expect_sound(const CompileReport& r) {
  EXPECT_EQ(r.fits(), true);
  EXPECT_GT(r.memory->temporary_bytes, 0);
  EXPECT_GT(r.device_memory_bytes, r.memory->total_bytes());
  bool gathers_a_parameter = false;
  for (const CollectiveRow& row : r.collectives.value()) {
    EXPECT_GT(row.count, 0);
    EXPECT_GT(row.bytes, 0) << row.kind;
    for (const int64_t i : row.arguments)
      gathers_a_parameter |= i >= 0 && r.arguments.at(static_cast<size_t>(i)).ends_with("weight");
  }
  EXPECT_TRUE(gathers_a_parameter);
}

TEST(CompileReport, ForTpus) {
  AXLE_NEEDS_PLUGIN("tpu");
  const CompileReport r = report("tpu:v5e:2x4");
  expect_sound(r);
  EXPECT_EQ(r.machine, "tpu-v5litepod-8");
  EXPECT_GT(r.compiler_cost.at("flops"), 0);
  EXPECT_EQ(r.memory->host_bytes, 0);
}

TEST(CompileReport, ForTpusThatOffload) {
  AXLE_NEEDS_PLUGIN("tpu");
  const CompileReport r = report(
      "tpu:v5e:2x4",
      {SetField{"model.decoder.layers.layer.@remat", "{class: SaveNames, offload: [\"*_proj\"]}"}});
  // Of each layer and device 4 rows of 64 positions: queries of 8 channels, keys and values of 4.
  EXPECT_GE(r.memory->host_bytes, 4 * 4 * 64 * (8 + 4 + 4) * 2);
}

TEST(CompileReport, ForGpus) {
  AXLE_NEEDS_PLUGIN("cuda");
  const CompileReport r = report("gpu:h100:1x8");
  expect_sound(r);
  EXPECT_EQ(r.machine, "gpu-H100-8");
}

TEST(CompileReport, ForSlicesThatTheSlowNetworkJoins) {
  AXLE_NEEDS_PLUGIN("tpu");
  const CompileReport r = report("tpu:v5e:2x2:2", {SetField{"mesh", "data=2x2,fsdp=2"}});
  EXPECT_EQ(r.num_devices, 8);
  EXPECT_EQ(r.mesh, "data=2x2,fsdp=2");
  EXPECT_EQ(r.fits(), true);
}

TEST(CompileReport, OptionsThatTheCompilerDoesNotKnowAreNamed) {
  AXLE_NEEDS_PLUGIN("tpu");
  EXPECT_THAT(error_of<ConfigError>([] {
                report("tpu:v5e:2x4", {SetField{"compiler_options.xla_no_such_option", "true"}});
              }),
              HasSubstr("xla_no_such_option"));
}

}  // namespace
}  // namespace axle
