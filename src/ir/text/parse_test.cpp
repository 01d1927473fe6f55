#include <gmock/gmock.h>

#include "ir/op_rules.h"
#include "ir/text/text_form.h"
#include "ir/value_map.h"
#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

struct Tag : Attributes {
  explicit Tag(std::string t) : tag(std::move(t)) {}
  std::string tag;
  std::string text() const override { return tag; }
};

std::vector<Type> like_inputs(const OpNode& op) { return types_of(op.inputs); }
std::vector<Type> one_number(const OpNode&) { return {{DType::kI32, {}}}; }
const OpRules copy_rules(
    {.name = "parse_copy", .infer = like_inputs, .eval = {}, .hlo = "test.copy", .cost = kNoFlops});
const OpRules number_rules({.name = "parse_number",
                            .infer = one_number,
                            .eval = {},
                            .hlo = "test.number",
                            .cost = kNoFlops});

// Ops with two results, attributes with braces, a nested region, a layer path, a backward op and an
// op without operands.
std::shared_ptr<Region> sample() {
  auto region = std::make_shared<Region>();
  const Tensor x = region->add_parameter({DType::kF32, {2, 3}});
  const Tensor y = region->add_parameter({DType::kBF16, {}});
  OpNode* const pair = region->append(copy_rules, {x, y}, {}, {});
  region->append(number_rules, {}, {}, {});  // dead: it has no number
  auto body = std::make_shared<Region>();
  const Tensor inner = body->add_parameter({DType::kBF16, {}});
  body->set_results({body->append(copy_rules, {inner}, {}, {})->result()});
  const NameScope scope("decoder/layer 1");
  OpNode* const loop = region->append(copy_rules, {pair->result(1)},
                                      std::make_shared<const Tag>("a = {1} :, b"), {body, body});
  const PhaseScope phase(Phase::kBackward);
  OpNode* const number =
      region->append(number_rules, {}, std::make_shared<const Tag>("value = 1"), {});
  region->set_results({pair->result(0), loop->result(), number->result()});
  region->remove_dead_ops();
  return region;
}

TEST(Parse, RestoresWhatPrintWrites) {
  const auto region = sample();
  const auto parsed = parse_region(print(*region), AttributeTable(*region));
  EXPECT_EQ(print(*parsed), print(*region));
  verify(*parsed);
  ASSERT_EQ(parsed->ops().size(), 3u);
  const OpNode &loop = *parsed->ops()[1], &number = *parsed->ops()[2];
  EXPECT_EQ(loop.inputs[0].node(), parsed->ops()[0]);
  EXPECT_EQ(loop.inputs[0].index(), 1u);
  EXPECT_EQ(loop.attributes, region->ops()[1]->attributes);
  EXPECT_EQ(loop.regions.size(), 2u);
  EXPECT_EQ(*loop.scope, "decoder/layer 1");
  EXPECT_EQ(number.phase, Phase::kBackward);
  EXPECT_EQ(types_of(parsed->parameters()), types_of(region->parameters()));
}

std::string fault(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  const auto region = sample();
  return error_of<DataError>([&] { parse_region(text, AttributeTable(*region)); });
}

TEST(Parse, NamesTheLineThatIsWrong) {
  const std::string text = print(*sample());
  EXPECT_THAT(fault(text, "parse_copy", "no_op"), HasSubstr("line 2: expected the name of an op"));
  EXPECT_THAT(fault(text, "%3#1 {", "%9#1 {"), HasSubstr("line 3: expected a value that is"));
  EXPECT_THAT(fault(text, "%3#1 {", "%3#2 {"), HasSubstr("instead of %3"));
  EXPECT_THAT(fault(text, "value = 1", "value = 2"), HasSubstr("expected attributes of the table"));
  EXPECT_THAT(fault(text, "f32[2, 3] bf16[]", "f32[2] bf16[]"),
              HasSubstr("parse_copy: expected results of f32[2, 3], bf16[], got"));
  EXPECT_THAT(fault(text, "bf16[])", "b16[])"), HasSubstr("line 1: expected a dtype"));
  EXPECT_THAT(fault(text, "  return", "  retur"), HasSubstr("expected"));
  EXPECT_THAT(fault(text + "more", "more", "x\n"), HasSubstr("expected the end of the text"));
  EXPECT_THAT(fault("x", "x", ""), HasSubstr("line 1: expected '('"));
}

}  // namespace
}  // namespace axle
