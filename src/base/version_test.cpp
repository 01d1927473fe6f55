#include "base/version.h"

#include <gtest/gtest.h>

#include <regex>

namespace axle {
namespace {

TEST(Version, IsThreeNumbersAndMaybeACommit) {
  const std::regex pattern(R"(\d+\.\d+\.\d+(\+[0-9a-f]+)?)");
  EXPECT_TRUE(std::regex_match(std::string(version()), pattern)) << version();
}

}  // namespace
}  // namespace axle
