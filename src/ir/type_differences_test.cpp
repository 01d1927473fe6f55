#include <fmt/format.h>
#include <gmock/gmock.h>

#include "ir/type.h"

namespace axle {
namespace {

const Type kRow{DType::kF32, {2}};

TEST(TypeDifferences, NamesMissingDifferingAndExtraTensors) {
  EXPECT_EQ(type_differences({{"a", kRow}}, {{"a", kRow}}), "");
  EXPECT_EQ(type_differences({{"a", kRow}, {"b", kRow}, {"d", kRow}},
                             {{"b", {DType::kBF16, {2}}}, {"c", {DType::kI32, {}}}, {"d", kRow}}),
            "a: expected f32[2], got none; b: expected f32[2], got bf16[2]; "
            "c: expected none, got i32[]");
}

TEST(TypeDifferences, CountsThoseThatItDoesNotName) {
  Tree<Type> expected;
  for (int i = 0; i < 23; ++i) expected.emplace(fmt::format("w{:02}", i), kRow);
  EXPECT_THAT(type_differences(expected, {}),
              ::testing::EndsWith("w19: expected f32[2], got none; and 3 more"));
}

}  // namespace
}  // namespace axle
