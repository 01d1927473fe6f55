// Resolution as a pure function. Files and flags are tested through the command line
// (cli/verbs/config_verbs_test.cpp).
#include "recipes/resolve/resolve.h"

#include <gmock/gmock.h>

#include "config/print.h"
#include "config/set.h"
#include "data/text_input.h"
#include "data/tokenizers/open_tokenizer.h"
#include "io/file.h"
#include "recipes/recipe.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"
#include "train/config/trainer_config.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kRuled = "fuji-7B-v2";

RecipeFile file_of(const std::string& source, const std::string& text) {
  return parse_recipe_file(text, source);
}

TEST(Resolve, MeshRuleOfTheMachine) {
  const Resolved h200 = resolve_config({.recipe = kRuled, .machine = "gpu-H200-64"});
  EXPECT_EQ(to_text(h200.config.mesh), "data=-1,fsdp=8");
  EXPECT_EQ(h200.report.mesh_rule, "gpu-(H100|H200|A100)-.*");
  EXPECT_EQ(to_text(resolve_config({.recipe = kRuled, .machine = "tpu-v5p-512"}).config.mesh),
            "data=-1,fsdp=16");
  const Resolved none = resolve_config({.recipe = kRuled, .machine = "abacus-1"});
  EXPECT_EQ(none.config.mesh, recipe(kRuled).mesh);
  EXPECT_EQ(none.report.mesh_rule, "");
}

TEST(Resolve, TokenizerPathMayBeAFolder) {
  const TempDir dir;
  for (const char* name : {"tokenizer.json", "tokenizer.model", "tekken.json"})
    replace_file(dir / name, "{}");
  const auto tokenizer = [&](const std::string& name, const std::string& path) {
    const std::string text = "{class: " + name + ", path: " + path + "}";
    const Trainer::Config config =
        resolve_config({.recipe = "quickstart", .edits = {SetField{"input.tokenizer", text}}})
            .config;
    const auto* const held_out = config.evalers.at("held_out").input.get_if<TextInput>();
    const std::string out = tokenizer_name(config.input.get_if<TextInput>()->tokenizer);
    EXPECT_EQ(tokenizer_name(held_out->tokenizer), out);
    return out;
  };
  const auto named = [&](const char* name, const std::string& of) {
    return (dir / name) + " (" + of + ")";
  };
  EXPECT_EQ(tokenizer("HuggingFaceTokenizer", dir.path()),
            named("tokenizer.json", "HuggingFaceTokenizer"));
  EXPECT_EQ(tokenizer("SentencePieceTokenizer", dir / ""),
            named("tokenizer.model", "SentencePieceTokenizer"));
  EXPECT_EQ(tokenizer("TekkenTokenizer", dir.path()), named("tekken.json", "TekkenTokenizer"));
  EXPECT_EQ(tokenizer("HuggingFaceTokenizer", dir / "tokenizer.json"),
            named("tokenizer.json", "HuggingFaceTokenizer"));
}

TEST(Resolve, OrderIsRuleThenFileThenEdits) {
  const RecipeFile file = file_of("a.yaml", "set: {mesh: \"data=4\", max_steps: 20}\n");
  ResolveRequest request{.recipe = kRuled, .files = {file}, .edits = {}, .machine = "gpu-H200-64"};
  EXPECT_EQ(to_text(resolve_config(request).config.mesh), "data=4");
  request.edits = {SetField{"mesh", "data=8"}, SetField{"max_steps", "30"},
                   SetField{"max_steps", "31"}};
  const Resolved resolved = resolve_config(request);
  EXPECT_EQ(to_text(resolved.config.mesh), "data=8");
  EXPECT_EQ(resolved.config.max_steps.get(), 31);
}

TEST(Resolve, LaterFilesOverrideEarlierOnes) {
  const RecipeFile a = file_of("a.yaml", "recipe: quickstart\nset: {max_steps: 20, seed: 5}\n");
  const RecipeFile b = file_of("b.yaml", "recipe: quickstart\nset: {max_steps: 21}\n");
  const Resolved resolved =
      resolve_config({.recipe = "", .files = {a, b}, .edits = {}, .machine = "cpu-16"});
  EXPECT_EQ(resolved.report.recipe, "quickstart");
  EXPECT_EQ(resolved.config.max_steps.get(), 21);
  EXPECT_EQ(resolved.config.seed, 5);
}

TEST(Resolve, TwoDifferentRecipesAreRefused) {
  const RecipeFile a = file_of("a.yaml", "recipe: quickstart\n");
  const RecipeFile b = file_of("b.yaml", "recipe: fuji-test-v1\n");
  const auto error = [](const std::string& recipe, const std::vector<RecipeFile>& files) {
    return error_of([&] {
      resolve_config({.recipe = recipe, .files = files, .edits = {}, .machine = "cpu-16"});
    });
  };
  EXPECT_EQ(error("", {a, b}),
            "b.yaml: recipe: expected 'quickstart', which is named already, got 'fuji-test-v1'; "
            "name one of them");
  EXPECT_THAT(error("fuji-test-v1", {a}), HasSubstr("a.yaml: recipe: expected 'fuji-test-v1'"));
  EXPECT_EQ(error("quickstart", {a}), "no error");
}

TEST(Resolve, ReplaceByItselfIsTheIdentity) {
  const RecipeFile file =
      file_of("a.yaml",
              "recipe: quickstart\nreplace: {RMSNorm: RMSNorm, Attention: Attention, "
              "FeedForward: FeedForward}\n");
  const Resolved resolved =
      resolve_config({.recipe = "", .files = {file}, .edits = {}, .machine = "cpu-16"});
  const Resolved plain = resolve_config({.recipe = "quickstart", .machine = "cpu-16"});
  EXPECT_EQ(diff(plain.config, resolved.config), "");
  EXPECT_EQ(resolved.report.rewrites.size(), 3u);
  EXPECT_THAT(to_text(resolved.report),
              HasSubstr("RMSNorm -> RMSNorm: nothing to change\n  so before: model.decoder."));
}

// A class can be named alone by a modifier, by a modifier of a mesh rule, and by a field that
// `replace` sets.
TEST(Resolve, ReportsFieldsCarriedOverToANewClass) {
  const std::string norm = "model.decoder.output_norm",
                    kept = "RMSNorm -> LayerNorm: " + norm + "\n  carried over: " + norm + ".eps\n";
  const std::string set_fields = "{" + norm + ": LayerNorm}",
                    replace = "{replace: RMSNorm, with: LayerNorm, at: " + norm + "}";
  const auto report = [](const std::string& text) {
    return to_text(resolve_config({.recipe = "quickstart",
                                   .files = {file_of("a.yaml", text)},
                                   .edits = {},
                                   .machine = "cpu-16"})
                       .report);
  };
  const auto rule = [](const std::string& modifier) {
    return "set: {mesh_rules: [{machine: cpu-.*, modifiers: [" + modifier + "]}]}\n";
  };
  for (const std::string& text : {"modify: [SetFields: {set: " + set_fields + "}]\n",
                                  "modify: [ReplaceClass: " + replace + "]\n",
                                  rule("{class: SetFields, set: " + set_fields + "}"),
                                  rule("{class: ReplaceClass, " + replace.substr(1))})
    EXPECT_THAT(report(text), HasSubstr(kept)) << text;
  EXPECT_THAT(
      report("replace: {PreNorm: {with: PostNorm, set: {norm: LayerNorm}}}\n"),
      HasSubstr("RMSNorm -> LayerNorm: PostNorm.norm\n  carried over: PostNorm.norm.eps\n"));
}

// Stacked may lack a common layer, Repeat may not: to a replacement, both have the same field.
TEST(Resolve, LayersKeepTheirFieldsWhetherStackedOrRepeated) {
  const auto text_at = [](std::vector<Edit> edits, const std::string& path) {
    edits.insert(edits.begin(),
                 SetField{"model.decoder.layers.layer.attention.body.num_heads", "2"});
    const Resolved resolved =
        resolve_config({.recipe = "quickstart", .files = {}, .edits = edits, .machine = "cpu-16"});
    return to_string(find_slot(resolved.config, "model.decoder.layers" + path));
  };
  const SetField stacked{"model.decoder.layers", "Stacked"},
      repeated{"model.decoder.layers", "Repeat"};
  const std::string heads = ".layer.attention.body.num_heads";
  EXPECT_EQ(text_at({stacked}, heads), "2\n");
  EXPECT_EQ(text_at({stacked, repeated}, heads), "2\n");
  EXPECT_EQ(text_at({stacked, repeated}, ""), text_at({repeated}, ""));
}

TEST(Resolve, FormerNamesInAFileOfAnOldRunAreRead) {
  std::string text = to_config_file("quickstart", recipe("quickstart"));
  const size_t at = text.find("rotate_values: false");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, std::string_view("rotate_values: false").size(), "turn_values: true");
  const Resolved resolved = resolve_config(
      {.recipe = "", .files = {file_of("config.yaml", text)}, .edits = {}, .machine = "cpu-16"});
  EXPECT_THAT(to_config_file("quickstart", resolved.config), HasSubstr("rotate_values: true"));
  EXPECT_THAT(to_config_file("quickstart", resolved.config), Not(HasSubstr("turn_values")));
}

TEST(Resolve, WholeConfigIsKeptAsItIs) {
  ResolveRequest request{
      .recipe = kRuled, .files = {}, .edits = {SetField{"mesh", ""}}, .machine = "gpu-H200-64"};
  const Resolved before = resolve_config(request);
  const RecipeFile file = file_of("config.yaml", to_config_file(kRuled, before.config));
  // The rule of the machine, if applied again, would set a mesh.
  const Resolved after =
      resolve_config({.recipe = "", .files = {file}, .edits = {}, .machine = "gpu-H200-64"});
  EXPECT_EQ(to_string(before.config), to_string(after.config));
  EXPECT_TRUE(after.config.mesh.axes.empty());
  EXPECT_THAT(
      to_text(after.report),
      HasSubstr("the mesh rules of this file were applied when it was made; the rule gpu-"));
  // If its rules would not change a whole config, nothing is reported.
  request.edits.clear();
  const Resolved ruled = resolve_config(request);
  EXPECT_THAT(to_text(ruled.report), HasSubstr(" for gpu-H200-64\n"));
  const RecipeFile same = file_of("config.yaml", to_config_file(kRuled, ruled.config));
  EXPECT_EQ(to_text(resolve_config({.files = {same}, .machine = "gpu-H200-64"}).report), "");
}

TEST(Resolve, ReplacementByARuleIsNotReportedAgain) {
  const ResolveRequest request{
      .recipe = "quickstart",
      .edits = {SetField{"mesh_rules",
                         "[{machine: abacus-1, modifiers: [{class: ReplaceClass, replace: RMSNorm, "
                         "with: LayerNorm}]}]"}},
      .machine = "abacus-1"};
  const RecipeFile whole =
      file_of("config.yaml", to_config_file("quickstart", resolve_config(request).config));
  EXPECT_EQ(to_text(resolve_config({.files = {whole}, .machine = "abacus-1"}).report), "");
}

TEST(Resolve, TwoWholeConfigsAreRefused) {
  const RecipeFile a = file_of("a.yaml", to_config_file(kRuled, recipe(kRuled)));
  const RecipeFile b = file_of("b.yaml", to_config_file(kRuled, recipe("quickstart")));
  const RecipeFile named = file_of("c.yaml", "recipe: quickstart\n");
  const auto error = [](const std::vector<RecipeFile>& files, const std::string& recipe) {
    return error_of(
        [&] { resolve_config({.recipe = recipe, .files = files, .machine = "cpu-2"}); });
  };
  EXPECT_EQ(error({a, b}, ""), "b.yaml: expected one whole config, got another one in a.yaml");
  const std::string with_recipe =
      "a.yaml: expected no recipe beside a file with a whole config, got 'quickstart'";
  EXPECT_EQ(error({a}, "quickstart"), with_recipe);
  EXPECT_EQ(error({a, named}, ""), with_recipe);
  EXPECT_EQ(error({named, a}, ""), with_recipe);
}

TEST(Resolve, RulesOfFilesAndEditsAreApplied) {
  const RecipeFile file = file_of("a.yaml",
                                  "set:\n  mesh_rules:\n  - machine: abacus-.*\n    modifiers:\n"
                                  "    - {class: SetMesh, mesh: \"data=3\"}\n  seed: 5\n");
  ResolveRequest request{.recipe = kRuled, .files = {file}, .edits = {}, .machine = "abacus-1"};
  EXPECT_EQ(to_text(resolve_config(request).config.mesh), "data=3");
  EXPECT_EQ(resolve_config(request).report.mesh_rule, "abacus-.*");
  request.edits = {SetField{"mesh_rules[0].modifiers[0].mesh", "data=5"}};
  EXPECT_EQ(to_text(resolve_config(request).config.mesh), "data=5");
  request.edits.emplace_back(SetField{"mesh", "data=7"});
  EXPECT_EQ(to_text(resolve_config(request).config.mesh), "data=7") << "rules come before edits";
  request.machine = "gpu-H200-64";
  EXPECT_EQ(resolve_config(request).report.mesh_rule, "") << "the recipe's own are gone";
  // This also holds beside a whole config.
  const RecipeFile whole = file_of("b.yaml", to_config_file(kRuled, recipe(kRuled)));
  const std::string rules =
      "[{machine: abacus-1, modifiers: [{class: SetMesh, mesh: \"data=2\"}]}]";
  EXPECT_EQ(to_text(resolve_config({.recipe = "",
                                    .files = {whole},
                                    .edits = {SetField{"mesh_rules", rules}},
                                    .machine = "abacus-1"})
                        .config.mesh),
            "data=2");
}

TEST(Resolve, EditOfARuleIsReportedOnce) {
  const ResolveRequest request{
      .recipe = "quickstart",
      .files = {file_of("a.yaml",
                        "set: {mesh_rules: [{machine: abacus-.*, modifiers: "
                        "[{class: SetMesh, mesh: \"data=3\"}]}]}\n")},
      .edits = {SetField{"mesh_rules[0].modifiers[0]", "SetMesh"}},
      .machine = "abacus-1"};
  const Resolved out = resolve_config(request);
  ASSERT_EQ(out.report.rewrites.size(), 2) << to_text(out.report);
  EXPECT_THAT(out.report.rewrites[0].what, HasSubstr("SetMesh -> SetMesh"));
  EXPECT_EQ(out.report.rewrites[1].what, "SetMesh data=3") << "the rule, applied";
}

// A modifier may change or remove the list that it was read from.
TEST(Resolve, ARuleMayRewriteTheRules) {
  const std::string later = ", {class: SetMesh, mesh: \"data=2\"}";
  for (const std::string modifier :
       {R"({class: SetFields, set: {mesh_rules: "[]"}})",
        R"({class: SetFields, set: {"mesh_rules[0].modifiers": "[]"}})",
        R"({class: SetFields, set: {"mesh_rules[0].modifiers[0]": SequenceParallel}})",
        R"({class: SetWhere, select: MeshRule, set: {modifiers: "[]"}})",
        R"({class: ReplaceClass, replace: SetMesh, with: SequenceParallel})",
        R"({class: ReplaceClass, replace: Modifier, with: SequenceParallel})",
        R"({class: Chain, modifiers: [{class: SetFields, set: {mesh_rules: "[]"}},
              {class: SetWhere, select: Trainer, set: {seed: 3}, "@allow_none": true}]})"}) {
    const std::string rules = "[{machine: abacus-1, modifiers: [" + modifier + later + "]}]";
    const ResolveRequest request{
        .recipe = "quickstart", .edits = {SetField{"mesh_rules", rules}}, .machine = "abacus-1"};
    const Resolved out = resolve_config(request);
    EXPECT_EQ(to_text(out.config.mesh), "data=2") << "the rule that was there first: " << modifier;
    // The same in place, as C++ may call it.
    Trainer::Config config = recipe("quickstart");
    set(config, "mesh_rules", rules);
    Trainer::Config apart = config;
    const std::string before = to_string(apart);
    apply_mesh_rules(config.mesh_rules, "abacus-1", config);
    complete_evaler_inputs(config);
    EXPECT_EQ(to_string(config), to_string(out.config)) << modifier;
    apply_modifier(apart.mesh_rules[0].modifiers[0], "modify[0]", apart);
    EXPECT_NE(to_string(apart), before) << modifier;
  }
}

TEST(Resolve, ModifiersInARuleAreWrittenAsInModify) {
  const RecipeFile file = file_of("r.yaml",
                                  "recipe: fuji-test-v1\nset:\n  mesh_rules: [{machine: "
                                  "\"cpu-.*\", modifiers: [{SetMesh: {mesh: \"fsdp=2\"}}]}]\n");
  EXPECT_EQ(to_text(resolve_config({.files = {file}, .machine = "cpu-2"}).config.mesh), "fsdp=2");
}

// A rule that could not be read is not applied: its mistake is reported once.
TEST(Resolve, UnreadableRuleIsReportedOnce) {
  const auto error = [](const std::string& modifiers) {
    const RecipeFile file =
        file_of("r.yaml", "set: {mesh_rules: [{machine: cpu-.*, modifiers: " + modifiers + "}]}\n");
    return error_of(
        [&] { resolve_config({.recipe = "fuji-test-v1", .files = {file}, .machine = "cpu-2"}); });
  };
  const std::string where = R"(r.yaml:1: mesh_rules\[0\].modifiers\[0\])";
  EXPECT_THAT(error("[{mesh: fsdp=2}]"),
              ::testing::MatchesRegex(where + ": expected a mapping with 'class', got [^\n]*"));
  EXPECT_THAT(error("[{SetMsh: {mesh: fsdp=2}}]"),
              ::testing::MatchesRegex(where + ": no Modifier is called 'SetMsh'; [^\n]*"));
  EXPECT_THAT(error("[{SetMesh: {meh: fsdp=2}}]"),
              ::testing::MatchesRegex(where + ".meh: no such field; [^\n]*"));
  EXPECT_EQ(error("[null]"), "mesh_rules[0].modifiers[0]: expected a modifier, got none");
}

TEST(Resolve, RulesThatComeTooLateAreReported) {
  const auto report = [](const std::string& mesh, const std::string& machine) {
    const std::string rules =
        R"([{machine: abacus-.*, modifiers: [{class: SetMesh, mesh: \"data=3\"}]}])";
    const RecipeFile file = file_of("a.yaml", "modify: [SetFields: {set: {mesh_rules: \"" + rules +
                                                  "\", mesh: \"" + mesh + "\"}}]\n");
    return to_text(
        resolve_config({.recipe = "quickstart", .files = {file}, .edits = {}, .machine = machine})
            .report);
  };
  const std::string said = "the rule abacus-.* for abacus-1 is not applied";
  EXPECT_THAT(report("data=2", "abacus-1"), HasSubstr(said));
  EXPECT_THAT(report("data=3", "abacus-1"), Not(HasSubstr(said))) << "it is followed already";
  EXPECT_THAT(report("data=2", "cpu-2"), Not(HasSubstr("not applied")));
}

TEST(Resolve, MissingMatchOfARuleIsReported) {
  const Resolved b200 = resolve_config({.recipe = kRuled, .machine = "gpu-B200-16"});
  EXPECT_THAT(to_text(b200.report),
              HasSubstr("no mesh rule matches gpu-B200-16; the config is unchanged (rules: tpu-"));
  EXPECT_EQ(to_text(resolve_config({.recipe = "quickstart", .machine = "gpu-B200-8"}).report), "");
}

// A width after MuP would leave rates and initial weights of the width before.
TEST(Resolve, LaterChangesThatContradictMuPAreErrors) {
  const RecipeFile mup =
      file_of("mup.yaml", "modify: [{MuP: {base: {model.decoder.model_dim: 64}}}]\n");
  const auto refusal = [&](const std::vector<Edit>& edits) {
    return error_of<ConfigError>([&] {
      resolve_config({.recipe = "quickstart", .files = {mup}, .edits = edits, .machine = "cpu-1"});
    });
  };
  EXPECT_EQ(refusal({SetField{"learner.optimizer.weight_decay", "0.5"}}), "no error");
  EXPECT_THAT(refusal({SetField{"model.decoder.model_dim", "512"}}),
              ::testing::StartsWith("MuP: model.decoder."));
  EXPECT_EQ(refusal({SetField{"model.decoder.modeldim", "128"}}).find("MuP"), std::string::npos)
      << "other mistakes come first";
}

// Weights that MuP scales may be frozen, and adapters come before it; the learner is built then.
TEST(Resolve, MuPAllowsFrozenWeightsAndEarlierAdapters) {
  const Edit width = SetField{"model.decoder.model_dim", "256"},
             mup = UseModifier{"MuP: {base: {model.decoder.model_dim: 64}}"},
             lora = UseModifier{"Lora: {rank: 4}"},
             frozen = SetField{"learner.frozen", "[\"**.attention.**\"]"};
  const auto refusal = [&](const std::vector<Edit>& edits) {
    return error_of<ConfigError>([&] {
      const Trainer::Config config =
          resolve_config({.recipe = "quickstart", .edits = edits, .machine = "cpu-1"}).config;
      const auto model = config.model.build({}, Scope{.path = "model"});
      config.learner.build({.params = model->param_specs(), .run_steps = 10},
                           Scope{.path = "learner"});
    });
  };
  EXPECT_EQ(refusal({width, mup, frozen}), "no error");
  EXPECT_EQ(refusal({width, frozen, mup}), "no error");
  EXPECT_EQ(refusal({width, lora, mup}), "no error");
  EXPECT_THAT(refusal({width, mup, lora}),
              ::testing::AllOf(::testing::StartsWith("MuP: model.decoder."),
                               HasSubstr(".lora_down: expected no later change of ")));
}

// A field that must be set is named once, whoever needs it first.
TEST(Resolve, UnsetFieldsWithMuPAreNamedOnce) {
  const Edit width = SetField{"model.decoder.model_dim", "256"},
             mup = UseModifier{"MuP: {base: {model.decoder.model_dim: 64}}"},
             unset = SetField{"model.decoder.layers.layer.feed_forward.body.up.@init", "Gaussian"};
  const auto told = [&](const std::vector<Edit>& edits) {
    Mistakes mistakes;
    const Trainer::Config config =
        resolve_config({.recipe = "quickstart", .edits = edits, .machine = "cpu-1"}, mistakes)
            .config;
    return mistakes.lines();
  };
  EXPECT_THAT(told({width, mup, unset}), ::testing::IsEmpty()) << "check_recipe() names it";
  EXPECT_THAT(told({width, unset, mup}),
              ::testing::ElementsAre(
                  HasSubstr("MuP: REQUIRED but not set: "
                            "model.decoder.layers.layer.feed_forward.body.up.@init.std; set")));
}

// Of a layer whose initialiser MuP sets, other fields may change.
TEST(Resolve, LaterChangesOfOtherFieldsAreAllowed) {
  const std::string router = "model.decoder.layers.layer.feed_forward.body.router";
  const auto refusal = [&](const std::string& field, const std::string& text) {
    return error_of<ConfigError>([&] {
      resolve_config({.recipe = "mixtral-test",
                      .edits = {UseModifier{"MuP: {base: {model.decoder.model_dim: 32}}"},
                                SetField{router + field, text}},
                      .machine = "cpu-1"});
    });
  };
  EXPECT_EQ(refusal(".top_k", "1"), "no error");
  EXPECT_THAT(refusal(".@init", "{class: VarianceScaling, scale: 3}"),
              ::testing::StartsWith("MuP: " + router));
}

// Seeds that differ by 2^32 would draw the same weights.
TEST(Resolve, SeedsMustFitAKey) {
  const auto error = [](const std::string& seed) {
    return error_of<ConfigError>([&] {
      resolve_config(
          {.recipe = "quickstart", .edits = {SetField{"seed", seed}}, .machine = "cpu-1"});
    });
  };
  EXPECT_EQ(error("4294967295"), "no error");
  for (const std::string seed : {"4294967296", "-1"})
    EXPECT_EQ(error(seed), "seed: expected an integer from 0 to 4294967295, got '" + seed + "'");
}

TEST(Resolve, LongNamesOfMachines) {
  const Resolved resolved =
      resolve_config({.recipe = kRuled, .machine = "gpu-" + std::string(1'000'000, 'H')});
  EXPECT_EQ(resolved.report.mesh_rule, "");
}

TEST(Resolve, NeverChangesTheRecipe) {
  const std::string before = to_string(recipe("quickstart"));
  resolve_config({.recipe = "quickstart",
                  .files = {},
                  .edits = {UseData{"synthetic"}, SetField{"seed", "8"}},
                  .machine = "cpu-1"});
  EXPECT_EQ(to_string(recipe("quickstart")), before);
}

}  // namespace
}  // namespace axle
