#include "base/version.h"

#include <gtest/gtest.h>

#include "base/text/regex.h"

namespace axle {
namespace {

TEST(Version, IsThreeNumbersAndMaybeACommit) {
  EXPECT_TRUE(Regex(R"(\d+\.\d+\.\d+(\+[0-9a-f]+)?)").match(version())) << version();
}

}  // namespace
}  // namespace axle
