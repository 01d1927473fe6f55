#include "modifiers/modifier.h"

#include <gmock/gmock.h>

#include "modifiers/replace_class.h"
#include "modifiers/set_fields.h"
#include "modifiers/tiny_root_test.h"
#include "testing/error_of.h"

namespace axle {

AXLE_REGISTER(TinyRoot)

namespace {

MeshRule steps_rule(const std::string& machine, const std::string& steps) {
  return {.machine = machine, .modifiers = {SetFields::Config{.set = {{"max_steps", steps}}}}};
}

TEST(MeshRules, TheFirstThatMatchesTheWholeNameCounts) {
  const MeshRules rules{steps_rule("tpu-v5", "1"), steps_rule("tpu-v5p-.*", "2"),
                        steps_rule("tpu-.*", "3"), steps_rule("gpu-(H100|H200)-[0-9]+", "4")};
  const auto applied = [&](const std::string& machine) {
    TinyRoot root;
    const std::string pattern = apply_mesh_rules(rules, machine, root).machine;
    return std::pair(pattern, root.max_steps);
  };
  EXPECT_EQ(applied("tpu-v5p-1024"), std::pair(std::string("tpu-v5p-.*"), int64_t{2}));
  EXPECT_EQ(applied("tpu-v6e-16"), std::pair(std::string("tpu-.*"), int64_t{3}));
  EXPECT_EQ(applied("gpu-H200-8"), std::pair(std::string("gpu-(H100|H200)-[0-9]+"), int64_t{4}));
  EXPECT_EQ(applied("gpu-B200-8"), std::pair(std::string(), int64_t{10}));
  EXPECT_EQ(applied(""), std::pair(std::string(), int64_t{10}));
}

TEST(MeshRules, ModifiersOfOneRuleGoInOrder) {
  MeshRule rule = steps_rule(".*", "1");
  rule.modifiers.push_back(SetFields::Config{.set = {{"max_steps", "2"}}});
  TinyRoot root;
  apply_mesh_rules({rule}, "cpu", root);
  EXPECT_EQ(root.max_steps, 2);
}

TEST(MeshRules, WhatTheirModifiersReplacedComesBack) {
  const MeshRules rules{
      {.machine = "cpu",
       .modifiers = {ReplaceClass::Config{.replace = "RMSNorm", .with = "LayerNorm"},
                     SetFields::Config{.set = {{"model.decoder.output_norm", "RMSNorm"}}}}}};
  TinyRoot root;
  std::string text;
  for (const auto& [what, done] : apply_mesh_rules(rules, "cpu", root).replaced)
    text += what + ": " + done.carried.at(0) + "\n";
  EXPECT_EQ(text,
            "RMSNorm -> LayerNorm: model.decoder.layers.layer.attention.norm.eps\n"
            "LayerNorm -> RMSNorm: model.decoder.output_norm.eps\n");
}

TEST(MeshRules, APatternThatIsNoneIsNamed) {
  TinyRoot root;
  EXPECT_THAT(
      error_of([&] { apply_mesh_rules({steps_rule("gpu-(", "1")}, "cpu", root); }),
      ::testing::HasSubstr("mesh_rules[0].machine: expected a regular expression, got 'gpu-('"));
  // Also behind the rule that matches.
  EXPECT_THAT(error_of([&] {
                apply_mesh_rules({steps_rule("cpu", "1"), steps_rule("gpu-(", "1")}, "cpu", root);
              }),
              ::testing::HasSubstr("mesh_rules[1].machine: expected a regular expression"));
}

TEST(MeshRules, AMistakeOfAModifierHasItsPlace) {
  TinyRoot root;
  const MeshRules rules{steps_rule("gpu.*", "1"),
                        {.machine = "cpu",
                         .modifiers = {SetFields::Config{.set = {{"max_steps", "2"}}},
                                       SetFields::Config{.set = {{"nonsense", "3"}}}}}};
  EXPECT_THAT(error_of([&] { apply_mesh_rules(rules, "cpu", root); }),
              ::testing::HasSubstr("mesh_rules[1].modifiers[1]: nonsense: no such field"));
}

}  // namespace
}  // namespace axle
