// Tests `axle plugin fetch`, except for downloads.
#include <gmock/gmock.h>

#include <fstream>

#include "cli/run_test.h"
#include "testing/environment_change.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

TEST(PluginFetch, NamesThePlatformsThatCanBeFetched) {
  for (const char* platform : {"gpu", "neuron", "", "CPU"}) {
    const Ran ran = run_axle({"plugin", "fetch", platform});
    EXPECT_EQ(ran.code, 2) << platform;
    EXPECT_THAT(ran.err, HasSubstr("axle plugin fetch: expected one of cpu, cuda, tpu, got '"));
  }
  EXPECT_EQ(run_axle({"plugin", "fetch"}).code, 2);
}

TEST(PluginFetch, KeepsAnExistingPlugin) {
  const TempDir dir;
  const std::string file = dir / "mine.so";
  std::ofstream(file) << "x";
  const EnvironmentChange named("AXLE_PLUGIN_CPU", file);
  const Ran ran = run_axle({"plugin", "fetch", "cpu"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "the cpu plugin is there: " + file + "\n");
}

TEST(PluginFetch, ReportsAVariableThatNamesNoFile) {
  const TempDir dir;
  const EnvironmentChange named("AXLE_PLUGIN_CPU", dir / "nothing.so");
  for (const std::vector<std::string>& verb :
       {std::vector<std::string>{"plugin", "fetch", "cpu"},
        {"train", "quickstart", "--data", "synthetic", "--dir", dir / "run"}}) {
    const Ran ran = run_axle(verb);
    EXPECT_EQ(ran.code, 5);
    EXPECT_THAT(ran.err, HasSubstr("AXLE_PLUGIN_CPU: expected the file of a PJRT plugin, got '"));
  }
}

}  // namespace
}  // namespace axle
