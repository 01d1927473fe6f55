#include "config/fields/named_map.h"

#include <gmock/gmock.h>

namespace axle {
namespace {

TEST(NamedMap, KeysAreNamesOfFiles) {
  const std::string expected =
      "expected a name of 1 to 100 letters, digits, '_', '-' and '.', not beginning with '.', got ";
  for (const std::string good : {"a", "a.b", "A_b-9", "7"}) EXPECT_EQ(NameOrder::problem(good), "");
  EXPECT_EQ(NameOrder::problem(std::string(100, 'a')), "");
  EXPECT_EQ(NameOrder::problem(""), expected + "''");
  EXPECT_EQ(NameOrder::problem(".."), expected + "'..'");
  EXPECT_EQ(NameOrder::problem("a/b"), expected + "'a/b'");
  EXPECT_EQ(NameOrder::problem("a\n"), expected + "'a\\x0a'");
  EXPECT_NE(NameOrder::problem(std::string(101, 'a')), "");
}

TEST(NamedMap, OrdersItsKeysAsTexts) {
  const NamedMap<int> map = {{"b", 1}, {"a10", 2}, {"a2", 3}};
  std::string keys;
  for (const auto& [key, value] : map) keys += key + " ";
  EXPECT_EQ(keys, "a10 a2 b ");
}

}  // namespace
}  // namespace axle
