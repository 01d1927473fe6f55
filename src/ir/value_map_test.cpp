#include "ir/value_map.h"

#include <gtest/gtest.h>

#include "ir/op_rules.h"

namespace axle {
namespace {

const OpRules two_results_rules({.name = "test_two_results",
                                 .infer =
                                     [](const OpNode&) {
                                       return std::vector<Type>(2, Type{DType::kF32, {3}});
                                     },
                                 .vjp = no_gradient,
                                 .hlo = "none",
                                 .cost = kNoFlops});

TEST(ValueMap, tells_results_of_one_op_apart) {
  Region region;
  const Tensor x = region.add_parameter({DType::kF32, {3}});
  OpNode& op = *region.append(two_results_rules, {x}, {}, {});
  ValueMap<int> map;
  EXPECT_TRUE(map.insert(op.result(1), 7));
  EXPECT_FALSE(map.insert(op.result(1), 8));
  EXPECT_EQ(map.at(op.result(1)), 7);
  EXPECT_EQ(map.find(op.result(0)), nullptr);
  map[op.result(0)] += 5;
  EXPECT_EQ(map.at(op.result(0)), 5);
  EXPECT_FALSE(map.contains(x));
  map.erase(op.result(0));
  EXPECT_FALSE(map.contains(op.result(0)));
  EXPECT_TRUE(map.contains(op.result(1)));
}

TEST(ValueMap, holds_values_of_one_region) {
  Region one, other;
  const Tensor x = one.add_parameter({DType::kF32, {}});
  const Tensor y = other.add_parameter({DType::kF32, {}});
  ValueMap<int> map;
  map.insert(x, 1);
  EXPECT_FALSE(map.contains(y));
  EXPECT_THROW(map.insert(y, 1), InternalError);
  EXPECT_THROW(map.at(y), InternalError);
  EXPECT_THROW(map.insert(Tensor(), 1), InternalError);
}

TEST(ValueSet, says_what_is_new) {
  Region region;
  Values values;
  for (int i = 0; i < 100; ++i) values.push_back(region.add_parameter({DType::kF32, {}}));
  ValueSet set(std::span<const Tensor>(values).first(50));
  EXPECT_FALSE(set.insert(values[49]));
  EXPECT_TRUE(set.insert(values[99]));
  EXPECT_FALSE(set.contains(values[98]));
}

}  // namespace
}  // namespace axle
