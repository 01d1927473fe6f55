#include "modifiers/modifier.h"

#include <gmock/gmock.h>

#include "base/text/text.h"
#include "modifiers/field_modifiers.h"
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

TEST(MeshRules, ModifiersOfARuleApplyInOrder) {
  MeshRule rule = steps_rule(".*", "1");
  rule.modifiers.push_back(SetFields::Config{.set = {{"max_steps", "2"}}});
  TinyRoot root;
  apply_mesh_rules({rule}, "cpu", root);
  EXPECT_EQ(root.max_steps, 2);
}

TEST(MeshRules, ReportsClassesReplacedByModifiers) {
  const MeshRules rules{
      {.machine = "cpu",
       .modifiers = {ReplaceClass::Config{.replace = "RMSNorm", .with = "LayerNorm"},
                     SetFields::Config{.set = {{"model.decoder.output_norm", "RMSNorm"}}}}}};
  TinyRoot root;
  std::string text;
  for (const auto& [what, done, check] : apply_mesh_rules(rules, "cpu", root).rewrites)
    text += what + ": " + join(done.matched, ", ") + " with " + join(done.carried, ", ") + "\n";
  const std::string layer = "model.decoder.layers.layer", head = "model.decoder.output_norm";
  EXPECT_EQ(text, "RMSNorm -> LayerNorm: " + layer + ".attention.norm, " + layer +
                      ".feed_forward.norm, " + head + " with " + layer + ".attention.norm.eps, " +
                      layer + ".feed_forward.norm.eps, " + head + ".eps\nSetFields: " + head +
                      " with \nLayerNorm -> RMSNorm: " + head + " with " + head + ".eps\n");
}

// Selects slots and changes none of them.
class Stubborn final : public Modifier {
 public:
  struct Config {
    AXLE_CONFIG(Stubborn)
  };
  Stubborn(const Config&, const Dims&, const Scope&) {}
  std::vector<Rewrite> apply(ConfigRef) const override {
    return {{"Stubborn",
             {.skipped = {{"a", "too large"}, {"b", "b.x: too small"}, {"c", "c.x: too small"}}}}};
  }
};

TEST(Modifier, ChangingNoSlotIsAnErrorUnlessAllowed) {
  TinyRoot root;
  EXPECT_EQ(error_of([&] { apply_modifier(Stubborn::Config{}, "modify[0]", root); }),
            "Stubborn: expected at least one slot that it can change, got only b.x: too small (and "
            "1 like "
            "it); a: too large; correct it, or set '@allow_none: true'");
  const Child<Modifier> allowed = {Stubborn::Config{}, {.allow_none = true}};
  EXPECT_EQ(apply_modifier(allowed, "modify[0]", root).at(0).report.skipped.size(), 3u);
}

TEST(MeshRules, InvalidPatternsAreNamed) {
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

TEST(MeshRules, MistakeInAModifierIsNamedWithItsPath) {
  TinyRoot root;
  const MeshRules rules{steps_rule("gpu.*", "1"),
                        {.machine = "cpu",
                         .modifiers = {SetFields::Config{.set = {{"max_steps", "2"}}},
                                       SetFields::Config{.set = {{"nonsense", "3"}}}}}};
  EXPECT_THAT(error_of([&] { apply_mesh_rules(rules, "cpu", root); }),
              ::testing::HasSubstr("mesh_rules[1].modifiers[1]: nonsense: no such field"));
}

AXLE_REGISTER(Stubborn)

}  // namespace
}  // namespace axle
