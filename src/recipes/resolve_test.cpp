// Resolution as a pure function; what files and flags do is tested through the command line (cli/config_verbs_test.cpp).
#include "recipes/resolve.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "config/print.h"
#include "config/register.h"
#include "modifiers/set_mesh.h"

namespace axle {
namespace {

using testing::HasSubstr;

Trainer::Config two_machines() {
  Trainer::Config config;
  config.max_steps = 10;
  config.mesh_rules = {{.machine = "cpu-.*", .modifiers = {mesh({{"data", 2}})}},
                       {.machine = "gpu-(H100|H200)-.*", .modifiers = {mesh({{"fsdp", 8}})}}};
  return config;
}
AXLE_REGISTER(two_machines, "test-two-machines")

TEST(Resolve, MeshRuleOfTheMachine) {
  const Resolved cpu = resolve_config({.recipe = "test-two-machines", .machine = "cpu-16"});
  EXPECT_EQ(to_text(cpu.config.mesh), "data=2");
  EXPECT_EQ(cpu.report.mesh_rule, "cpu-.*");
  EXPECT_EQ(to_text(resolve_config({.recipe = "test-two-machines", .machine = "gpu-H200-8"}).config.mesh), "fsdp=8");
  const Resolved none = resolve_config({.recipe = "test-two-machines", .machine = "tpu-v5p-8"});
  EXPECT_TRUE(none.config.mesh.axes.empty());
  EXPECT_EQ(none.report.mesh_rule, "");
}

TEST(Resolve, OrderIsRuleThenFileThenEdits) {
  const ConfigText file{"a.yaml", "set: {mesh: \"data=4\", max_steps: 20}\n"};
  ResolveRequest request{.recipe = "test-two-machines", .files = {file}, .edits = {}, .machine = "cpu-16"};
  EXPECT_EQ(to_text(resolve_config(request).config.mesh), "data=4");
  request.edits = {SetField{"mesh", "data=8"}, SetField{"max_steps", "30"}, SetField{"max_steps", "31"}};
  const Resolved resolved = resolve_config(request);
  EXPECT_EQ(to_text(resolved.config.mesh), "data=8");
  EXPECT_EQ(resolved.config.max_steps.get(), 31);
}

TEST(Resolve, LaterFilesComeAfterEarlierOnes) {
  const ConfigText a{"a.yaml", "recipe: quickstart\nset: {max_steps: 20, seed: 5}\n"}, b{"b.yaml", "recipe: test-two-machines\nset: {max_steps: 21}\n"};
  const Resolved resolved = resolve_config({.recipe = "", .files = {a, b}, .edits = {}, .machine = "cpu-16"});
  EXPECT_EQ(resolved.report.recipe, "test-two-machines");
  EXPECT_EQ(resolved.config.max_steps.get(), 21);
  EXPECT_EQ(resolved.config.seed, 5);
}

TEST(Resolve, ReplaceByItselfIsTheIdentity) {
  const ConfigText file{"a.yaml", "recipe: quickstart\nreplace: {RMSNorm: RMSNorm, Attention: Attention, FeedForward: FeedForward}\n"};
  const Resolved resolved = resolve_config({.recipe = "", .files = {file}, .edits = {}, .machine = "cpu-16"});
  EXPECT_EQ(diff(recipe("quickstart"), resolved.config), "");
  EXPECT_EQ(resolved.report.replaced.size(), 3u);
  EXPECT_THAT(to_text(resolved.report), HasSubstr("RMSNorm -> RMSNorm: model.decoder."));
}

TEST(Resolve, WholeConfigIsKeptAsItIs) {
  const Resolved before = resolve_config({.recipe = "test-two-machines", .files = {}, .edits = {SetField{"mesh", ""}}, .machine = "cpu-16"});
  const ConfigText file{"config.yaml", to_config_file("test-two-machines", before.config)};
  // The rule of the machine would set a mesh again.
  const Resolved after = resolve_config({.recipe = "", .files = {file}, .edits = {}, .machine = "cpu-16"});
  EXPECT_EQ(diff(before.config, after.config), "");
  EXPECT_EQ(to_string(before.config), to_string(after.config));
}

TEST(Resolve, NeverChangesTheRecipe) {
  const std::string before = to_string(recipe("quickstart"));
  resolve_config({.recipe = "quickstart", .files = {}, .edits = {UseData{"synthetic"}, SetField{"seed", "8"}}, .machine = "cpu-1"});
  EXPECT_EQ(to_string(recipe("quickstart")), before);
}

}  // namespace
}  // namespace axle
