#include <gtest/gtest.h>

#include "base/text/text_table.h"

namespace axle {
namespace {

TEST(BytesText, TakesTheUnitThatFits) {
  EXPECT_EQ(bytes_text(512), "512 B");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(3.0 * (1 << 30)), "3.0 GiB");
}

TEST(Counted, OneHasNoPlural) {
  EXPECT_EQ(counted(0, "byte"), "0 bytes");
  EXPECT_EQ(counted(1, "byte"), "1 byte");
  EXPECT_EQ(counted(2, "tensor"), "2 tensors");
  EXPECT_EQ(plural(1, "file"), "file");
}

TEST(SecondsText, TakesTheUnitThatFits) {
  EXPECT_EQ(seconds_text(24.5449), "24.545 s");
  EXPECT_EQ(seconds_text(0.0125), "12.5 ms");
  EXPECT_EQ(seconds_text(3.4e-6), "3.4 us");
  EXPECT_EQ(seconds_text(0), "0.000 s");
}

}  // namespace
}  // namespace axle
