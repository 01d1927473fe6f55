#include "base/text/text_table.h"

#include <gtest/gtest.h>

namespace axle {
namespace {

TEST(TextTable, ColumnsLineUp) {
  TextTable table({"name", "size"});
  table.add({"a", "1"});
  table.add({"longer", ""});
  EXPECT_EQ(table.text(), "name    size\na       1\nlonger\n");
}

TEST(TextTable, Numbers) {
  EXPECT_EQ(grouped_digits(0), "0");
  EXPECT_EQ(grouped_digits(999), "999");
  EXPECT_EQ(grouped_digits(1000), "1,000");
  EXPECT_EQ(grouped_digits(-1234567), "-1,234,567");
  EXPECT_EQ(grouped_digits(-123), "-123");
}

}  // namespace
}  // namespace axle
