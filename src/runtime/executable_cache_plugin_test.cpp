// Which programs of a real plugin count as the same.
#include <gtest/gtest.h>

#include "runtime/executable_cache.h"
#include "testing/environment_change.h"
#include "testing/needs_plugin.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

// Plugins read their flags from the environment: another flag makes another program.
TEST(ExecutableCacheKey, HoldsTheFlagsOfTheEnvironment) {
  AXLE_NEEDS_PLUGIN("cpu");
  const TempDir dir;
  const ExecutableCache cache(dir.path());
  const auto key = [&] { return cache.key(load_plugin("cpu"), {}, "text", "options"); };
  for (const char* name : {"XLA_FLAGS", "LIBTPU_INIT_ARGS"}) {
    EnvironmentChange variable(name, std::nullopt);
    const std::string without = key();
    EXPECT_EQ(key(), without);
    variable.set("--a=1");
    const std::string with = key();
    EXPECT_NE(with, without) << name;
    variable.set("--a=2");
    EXPECT_NE(key(), with) << name;
  }
  const EnvironmentChange xla("XLA_FLAGS", "--a=1");
  EnvironmentChange tpu("LIBTPU_INIT_ARGS", std::nullopt);
  const std::string of_xla = key();
  const EnvironmentChange no_xla("XLA_FLAGS", std::nullopt);
  tpu.set("--a=1");
  EXPECT_NE(key(), of_xla) << "one is not the other";
}

}  // namespace
}  // namespace axle
