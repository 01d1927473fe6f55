#include "base/units.h"

#include <gtest/gtest.h>

namespace axle {
namespace {

TEST(BytesText, TakesTheUnitThatFits) {
  EXPECT_EQ(bytes_text(512), "512 B");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(3.0 * (1 << 30)), "3.0 GiB");
}

}  // namespace
}  // namespace axle
