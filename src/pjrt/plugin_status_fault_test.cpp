// The status of plugins that AXLE_PLUGIN_<NAME> names, with a fake plugin of another platform.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pjrt/plugin_status.h"
#include "testing/environment_change.h"
#include "testing/loaded_fake.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using testing::Fake;
using ::testing::HasSubstr;

PluginStatus status_of(std::string_view platform) {
  for (const PluginStatus& status : plugin_statuses()) {
    if (status.platform == platform) return status;
  }
  return {};
}

TEST(PluginStatusFault, APluginOfAnotherPlatformIsAProblem) {
  if (has_device(plugin_policy("tpu"))) GTEST_SKIP() << "here a client tells it";
  Fake fake;
  const std::string path = fake.load("tpu").path().string();
  const EnvironmentChange named("AXLE_PLUGIN_TPU", path);
  const PluginStatus status = status_of("tpu");
  EXPECT_EQ(status.path, path);
  EXPECT_EQ(status.api_version, "0.114") << "what it tells of itself is kept";
  EXPECT_THAT(status.problem, AllOf(HasSubstr("INVALID_ARGUMENT: no such topology: 'v4:2x2x1'"),
                                    EndsWith("; AXLE_PLUGIN_TPU must name a plugin for tpu")));
  EXPECT_EQ(fake->live_objects, 0);
}

TEST(PluginStatusFault, PluginOfAnotherPlatformIsAProblem) {
  Fake fake;
  const std::string path = fake.load("cpu").path().string();
  const EnvironmentChange cpu("AXLE_PLUGIN_CPU", path), rocm("AXLE_PLUGIN_ROCM", path);
  EXPECT_EQ(status_of("cpu").problem, "");
  EXPECT_EQ(status_of("rocm").problem, "plugin 'rocm' (" + path +
                                           "): expected a plugin of platform 'rocm', got one of "
                                           "'cpu'; AXLE_PLUGIN_ROCM must name a plugin for rocm");
}

TEST(PluginStatusFault, MissingFileInTheVariableIsAProblem) {
  const EnvironmentChange named("AXLE_PLUGIN_NEURON", "/nonexistent");
  const PluginStatus status = status_of("neuron");
  EXPECT_EQ(status.path, "/nonexistent");
  EXPECT_THAT(status.problem, HasSubstr("AXLE_PLUGIN_NEURON: expected the file of a PJRT plugin"));
}

}  // namespace
}  // namespace axle
