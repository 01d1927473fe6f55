#include <gtest/gtest.h>

#include "ir/op_rules.h"
#include "ir/value_map.h"

namespace axle {
namespace {

struct NumberAttributes : Attributes {
  explicit NumberAttributes(int n) : number(n) {}
  int number;
  std::string text() const override { return std::to_string(number); }
};

std::vector<Type> like_first(const OpNode& op) { return {op.inputs[0].type()}; }
const OpRules combine_rules({.name = "test_combine",
                             .infer = like_first,
                             .eval = {},
                             .hlo = "test.combine",
                             .cost = kNoFlops});
const OpRules other_rules(
    {.name = "test_other", .infer = like_first, .eval = {}, .hlo = "test.other", .cost = kNoFlops});

struct Variant {
  std::string_view layer = "a";
  int number = 1;
  int64_t dim = 2;
  bool swapped = false, other_op = false, other_result = false, nested = false;
  int inner_number = 1;
};

std::shared_ptr<Region> region_of(const Variant& v) {
  const NameScope scope(v.layer);
  auto region = std::make_shared<Region>();
  const TraceScope trace(*region);
  const Tensor x = region->add_parameter({DType::kF32, {v.dim}}, v.layer);
  const Tensor y = region->add_parameter({DType::kF32, {v.dim}});
  std::vector<std::shared_ptr<const Region>> bodies;
  if (v.nested) bodies.push_back(region_of({.number = v.inner_number}));
  const OpNode& op = *region->append(v.other_op ? other_rules : combine_rules,
                                     v.swapped ? Values{y, x} : Values{x, y},
                                     std::make_shared<const NumberAttributes>(v.number), bodies);
  const Tensor first = op.result();
  const Tensor second = emit(combine_rules, {first, first});
  region->set_results({v.other_result ? first : second});
  return region;
}

TEST(Structure, LeavesOutLayersAndNames) {
  const auto a = region_of({}), b = region_of({.layer = "b"});
  EXPECT_TRUE(same_structure(*a, *b));
  EXPECT_EQ(structure_hash(*a), structure_hash(*b));
}

TEST(Structure, IsTheSameInEveryProcess) {
  EXPECT_EQ(structure_hash(*region_of({})), 10609256266032961812U);
}

TEST(Structure, CountsEverythingElse) {
  const auto plain = region_of({}), nested = region_of({.nested = true});
  for (const Variant& v :
       {Variant{.number = 2}, Variant{.dim = 3}, Variant{.swapped = true},
        Variant{.other_op = true}, Variant{.other_result = true}, Variant{.nested = true}}) {
    EXPECT_FALSE(same_structure(*plain, *region_of(v)));
    EXPECT_NE(structure_hash(*plain), structure_hash(*region_of(v)));
  }
  EXPECT_TRUE(same_structure(*nested, *region_of({.layer = "b", .nested = true})));
  EXPECT_FALSE(same_structure(*nested, *region_of({.nested = true, .inner_number = 2})));
}

}  // namespace
}  // namespace axle
