// Tests `config show`, `list`, `diff` and `check`: resolution as the user sees it.
#include <gmock/gmock.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "cli/run_test.h"
#include "config/registry.h"
#include "io/file.h"
#include "learn/optimizer.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string field(const std::string& shown, const std::string& path) {
  const size_t at = ("\n" + shown).find("\n" + path + ": ");
  if (at == std::string::npos) return "(none)";
  const size_t begin = at + path.size() + 2;
  return shown.substr(begin, shown.find('\n', begin) - begin);
}

// Returns the value of a field after the flags.
std::string resolved(const std::string& path, const Arguments& flags,
                     const std::string& recipe = "quickstart") {
  Arguments arguments = {"config", "show"};
  if (!recipe.empty()) arguments.push_back(recipe);
  const Ran ran = run_axle(joined(arguments, flags));
  return ran.code == 0 ? field(ran.out, path) : ran.err;
}

class ConfigFile : public ::testing::Test {
 protected:
  std::string write(const std::string& text) {
    const std::string path = dir_ / "moe.yaml";
    replace_file(path, text);
    return path;
  }
  // Returns the error of `config check --config FILE`, with FILE instead of the path.
  std::string error_of(const std::string& text) {
    const std::string path = write(text);
    const Ran ran = run_axle({"config", "check", "--config", path});
    EXPECT_EQ(ran.code, 2) << ran.out;
    std::string out = ran.err;
    for (size_t at; (at = out.find(path)) != std::string::npos;)
      out.replace(at, path.size(), "FILE");
    return out;
  }
  TempDir dir_;
};

TEST(ConfigVerbs, OnFlagSelectsTheMeshOfTheHardware) {
  EXPECT_EQ(resolved("mesh", {"--on", "gpu-H100-8"}, "fuji-7B-v2"), "fsdp=-1");
  EXPECT_EQ(resolved("mesh", {"--on", "gpu-H100-16"}, "fuji-7B-v2"), "data=-1,fsdp=8");
  EXPECT_EQ(resolved("mesh", {"--on", "tpu-v5p-512"}, "fuji-7B-v2"), "data=-1,fsdp=16");
  EXPECT_EQ(resolved("mesh", {"--on", "tpu:v5p:4x8x8"}, "fuji-7B-v2"), "data=-1,fsdp=16");
  EXPECT_EQ(resolved("mesh", {"--on", "neuron-trn2.48xlarge-64"}, "fuji-1B-v3"), "fsdp=-1,model=4");
  EXPECT_THAT(resolved("mesh", {"--on", "tpu-v5q-512"}, "fuji-7B-v2"), HasSubstr("did you mean"));
}

TEST(ConfigVerbs, ShowSaysWhichMeshRuleItFollows) {
  const auto show = [](const Arguments& more) {
    const Ran ran = run_axle(joined({"config", "show", "fuji-7B-v2", "--json"}, more));
    EXPECT_TRUE(nlohmann::json::accept(ran.out));
    return ran.err;
  };
  EXPECT_THAT(show({"--on", "gpu-H100-8"}), HasSubstr(" for gpu-H100-8\n"));
  EXPECT_THAT(show({"--on", "gpu-B200-16"}), HasSubstr("no mesh rule matches gpu-B200-16"));
  // Without --on, the machine is this one.
  const std::string here = show({});
  EXPECT_THAT(here, StartsWith("mesh rule cpu-.* for cpu-"));
  EXPECT_THAT(here, EndsWith("\nSetMesh data=-1: mesh\n"));
}

TEST(ConfigVerbs, DiffShowsWhatDiffersBetweenMachines) {
  const Ran ran =
      run_axle({"config", "diff", "fuji-7B-v2", "--on", "gpu-H100-8", "--on", "tpu-v5p-512"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("mesh: fsdp=-1 -> data=-1,fsdp=16"));
  EXPECT_THAT(ran.out, Not(HasSubstr("max_steps")));
  const Ran same =
      run_axle({"config", "diff", "fuji-7B-v2", "--on", "gpu-H100-16", "--on", "gpu-H200-32"});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_THAT(same.out, Not(HasSubstr("mesh:")));
  EXPECT_EQ(run_axle({"config", "diff", "fuji-7B-v2", "--on", "gpu-H100-8"}).code, 2);
  for (const char* first : {"cpu:2", ""}) {
    const Ran empty = run_axle({"config", "diff", "quickstart", "--on", first, "--on", ""});
    EXPECT_EQ(empty.code, 2);
    EXPECT_THAT(empty.err, HasSubstr("target '': no such machine type ''"));
  }
}

TEST(ConfigVerbs, FlagsApplyFromLeftToRight) {
  EXPECT_EQ(resolved("max_steps", {"--steps", "5", "--set", "max_steps=7"}), "7");
  EXPECT_EQ(resolved("max_steps", {"--set", "max_steps=7", "--steps", "5"}), "5");
  EXPECT_EQ(resolved("max_steps", {"--set", "max_steps=5", "--set", "max_steps=6"}), "6");
  EXPECT_EQ(resolved("seed", {"--set", "seed=4", "--seed=9"}), "9");
  EXPECT_EQ(resolved("mesh", {"--set", "mesh=data=8", "--mesh", "data=2,fsdp=2,model=2"}),
            "data=2,fsdp=2,model=2");
}

TEST(ConfigVerbs, ClassesByName) {
  EXPECT_EQ(resolved("model.decoder.output_norm", {"--set", "model.decoder.output_norm=LayerNorm"}),
            "LayerNorm");
  EXPECT_EQ(
      resolved("model.decoder.output_norm.eps", {"--set", "model.decoder.output_norm.eps=0.25",
                                                 "--set", "model.decoder.output_norm=LayerNorm"}),
      "0.25");
}

TEST(ConfigVerbs, Data) {
  EXPECT_EQ(resolved("input.source.path", {"--data", "some/text"}), "'some/text'");
  EXPECT_EQ(resolved("input", {"--data", "synthetic"}), "SyntheticInput");
  EXPECT_EQ(resolved("input.seq_len", {"--set", "input.seq_len=96", "--data", "synthetic"}), "96");
  EXPECT_EQ(resolved("input.num_batches", {"--data", "synthetic"}), "none");
  EXPECT_EQ(resolved("evalers['held_out'].input.num_batches", {"--data", "synthetic"}), "8");
  EXPECT_EQ(resolved("evalers['held_out'].input.source.path", {"--data", "some/text"}),
            "'some/text'");
  // All texts count, and synthetic tokens stand alone.
  const Arguments both = {"--data", "some/text", "--data", "another"};
  EXPECT_EQ(resolved("input.source.path", both), "'some/text'");
  EXPECT_EQ(resolved("input.source.more_paths", both), "['another']");
  EXPECT_EQ(resolved("evalers['held_out'].input.source.more_paths", both), "['another']");
  EXPECT_THAT(resolved("input", {"--data", "synthetic", "--data", "some/text"}),
              HasSubstr("--data: expected paths, or 'synthetic' alone, got both"));
  EXPECT_THAT(resolved("input", {"--set", "input=SyntheticInput", "--data", "some/text"}),
              HasSubstr("--data some/text: expected an input that reads text, got SyntheticInput"));
}

TEST(ConfigVerbs, EveryRecipeTakesSyntheticData) {
  const auto all = nlohmann::json::parse(run_axle({"config", "list", "--json"}).out);
  for (const char* list : {"recipes", "test_recipes"}) {
    ASSERT_GE(all[list].size(), 5u);
    for (const std::string recipe : all[list])
      EXPECT_EQ(resolved("input", {"--data", "synthetic"}, recipe), "SyntheticInput") << recipe;
  }
}

TEST(ConfigVerbs, ListSeparatesRecipesForTests) {
  const auto all = nlohmann::json::parse(run_axle({"config", "list", "--json"}).out);
  const std::vector<std::string> recipes = all["recipes"], for_tests = all["test_recipes"];
  EXPECT_THAT(recipes, ::testing::AllOf(Contains("quickstart"), Each(Not(HasSubstr("-test")))));
  EXPECT_THAT(for_tests, ::testing::AllOf(Contains("fuji-test-v1"), Each(HasSubstr("-test"))));
  const std::string text = run_axle({"config", "list"}).out;
  EXPECT_LT(text.find("Functions"), text.find("fuji-test-v1"));
}

TEST(ConfigVerbs, UnknownNames) {
  EXPECT_THAT(resolved("", {}, "quikstart"),
              StartsWith("axle: no recipe is called 'quikstart'; did you mean 'quickstart'?"));
  EXPECT_THAT(resolved("", {}, "fuji"), HasSubstr("did you mean 'fuji-"));
  EXPECT_THAT(resolved("", {}, ""), StartsWith("axle: RECIPE: expected one of "));
  EXPECT_THAT(
      resolved("", {"--set", "model.decoder.layrs=4"}),
      StartsWith("axle: model.decoder.layrs: no such field; did you mean 'layers'? (fields: "));
  EXPECT_THAT(resolved("", {"--set", "model.decoder.output_norm=LayrNorm"}),
              HasSubstr("no Norm is called 'LayrNorm'; did you mean 'LayerNorm'?"));
  EXPECT_THAT(resolved("", {"--set", "model.decoder.output_norm=Linear"}),
              HasSubstr("no Norm is called 'Linear'"));
  EXPECT_EQ(resolved("", {"--set", "max_steps"}),
            "axle config show: --set: expected PATH=VALUE, got 'max_steps'; see axle config show "
            "--help\n");
  EXPECT_THAT(resolved("", {"--steps", "many"}),
              HasSubstr("max_steps: expected an integer, got 'many'"));
  EXPECT_EQ(run_axle({"config", "show", "quickstart", "--steps", "many"}).code, 2);
  EXPECT_THAT(resolved("", {"--config", "nowhere.yaml"}),
              HasSubstr("nowhere.yaml: expected a config file, got nothing there"));
}

TEST_F(ConfigFile, SectionsApplyInOrder) {
  const std::string path = write(
      "set:\n  model.decoder.output_norm.eps: 0.125\n  max_steps: 11\n"
      "replace:\n  RMSNorm: {with: LayerNorm, set: {eps: 0.5}}\n"
      "recipe: quickstart\n"
      "modify:\n  - setmesh: {mesh: \"data=4\"}\n");
  // `replace` rewrote the whole tree first, then `set` set one field, then the flag applied.
  const Ran ran = run_axle({"config", "show", "--steps", "12", "--config", path});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(field(ran.out, "model.decoder.output_norm"), "LayerNorm");
  EXPECT_EQ(field(ran.out, "model.decoder.output_norm.eps"), "0.125");
  EXPECT_EQ(field(ran.out, "model.decoder.layers.layer.attention.norm.eps"), "0.5");
  EXPECT_EQ(field(ran.out, "max_steps"), "12");
  EXPECT_EQ(field(ran.out, "mesh"), "data=4");
  EXPECT_THAT(ran.out, Not(HasSubstr("RMSNorm")));
}

TEST_F(ConfigFile, ReplaceSelectsWrapsAndKeeps) {
  const std::string path = write(
      "recipe: quickstart\n"
      "replace:\n"
      "  Norm:\n"
      "    - {with: LayerNorm, at: \"model.decoder.output_norm\"}\n"
      "  RoPE: FusedQKV\n"
      "  FusedQKV: {with: RoPE, wrap: inner, set: {theta: 123.0}}\n");
  const Ran ran = run_axle({"config", "show", "--config", path});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(field(ran.out, "model.decoder.output_norm"), "LayerNorm");
  EXPECT_EQ(field(ran.out, "model.decoder.layers.layer.attention.norm"), "RMSNorm");
  const std::string qkv = "model.decoder.layers.layer.attention.body.qkv";
  EXPECT_EQ(field(ran.out, qkv), "RoPE");
  EXPECT_EQ(field(ran.out, qkv + ".theta"), "123.0");
  EXPECT_EQ(field(ran.out, qkv + ".inner"), "FusedQKV");
}

TEST_F(ConfigFile, CheckComparesAWholeConfigWithItself) {
  const std::string config =
      run_axle({"config", "show", "quickstart", "--data", "synthetic", "--yaml"}).out;
  const Ran same = run_axle({"config", "check", "--config", write(config)});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_EQ(same.out, "no differences\n");
  const Ran other =
      run_axle({"config", "check", "--config", write(config), "--set", "log_every_steps=7"});
  EXPECT_EQ(other.code, 0) << other.err;
  EXPECT_THAT(other.out, HasSubstr("log_every_steps: 10 -> 7"));
}

TEST_F(ConfigFile, CheckPrintsReportAndDifferences) {
  const std::string path =
      write("recipe: quickstart\nreplace: {RMSNorm: LayerNorm}\nset: {max_steps: 9}\n");
  const Ran ran = run_axle({"config", "check", "--config", path, "--data", "synthetic"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("RMSNorm -> LayerNorm, 3 slots: "));
  EXPECT_THAT(ran.out, HasSubstr("carried over: "));
  EXPECT_THAT(ran.out, HasSubstr("model.decoder.output_norm: RMSNorm -> LayerNorm\n"));
  EXPECT_THAT(ran.out, HasSubstr("-> 9\n"));
  EXPECT_THAT(ran.out, Not(HasSubstr("seed:")));
}

TEST(ConfigVerbs, ModifyAppliesBetweenTheFlagsAroundIt) {
  const Ran ran = run_axle({"config", "show", "quickstart", "--set", "learner.microbatches=2",
                            "--modify", "GradientAccumulation: {microbatches: 4}", "--modify",
                            "SetWhere: {select: Norm, set: {eps: 0.5}}", "--set",
                            "model.decoder.output_norm.eps=0.25"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(field(ran.out, "learner.microbatches"), "4");
  EXPECT_EQ(field(ran.out, "model.decoder.layers.layer.attention.norm.eps"), "0.5");
  EXPECT_EQ(field(ran.out, "model.decoder.output_norm.eps"), "0.25");
  EXPECT_THAT(ran.err, HasSubstr("SetWhere Norm, 3 slots: "));
}

TEST(ConfigVerbs, ModifyNamesItsMistakes) {
  const auto error = [](const std::string& modifier) {
    const Ran ran =
        run_axle({"config", "check", "quickstart", "--data", "synthetic", "--modify", modifier});
    EXPECT_EQ(ran.code, 2);
    return ran.err;
  };
  EXPECT_THAT(error("SetRemt"), HasSubstr("no Modifier is called 'SetRemt'; did you mean 'SetRem"));
  EXPECT_THAT(error("[SetRemat]"), HasSubstr("--modify: expected one modifier, 'Name' or "));
  EXPECT_THAT(error("SetRemat: 3"), HasSubstr("SetRemat: expected a mapping of fields, got"));
  EXPECT_THAT(error("SetRemat: {att: x}"), HasSubstr("SetRemat.att: no such field"));
  EXPECT_THAT(error("SetRemat: {at: x}"), HasSubstr("or set '@allow_none: true'"));
  EXPECT_EQ(run_axle({"config", "check", "quickstart", "--data", "synthetic", "--modify",
                      "SetRemat: {at: x, \"@allow_none\": true}"})
                .code,
            0);
}

TEST_F(ConfigFile, MayBeAPipe) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const std::string text = "recipe: quickstart\nset: {seed: 17}\n";
  ASSERT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ::close(ends[1]);
  EXPECT_EQ(resolved("seed", {"--config", "/dev/fd/" + std::to_string(ends[0])}, ""), "17");
  ::close(ends[0]);
}

TEST_F(ConfigFile, ErrorsNameOtherFileFormats) {
  EXPECT_THAT(error_of("version https://git-lfs.github.com/spec/v1\noid sha256:4d7\n"),
              HasSubstr("FILE:1: expected YAML, got a git-LFS pointer; `git lfs pull` fetches"));
  EXPECT_THAT(error_of("<!DOCTYPE html>\n<html>\n"),
              HasSubstr("FILE:1: expected YAML, got an HTML"));
  EXPECT_THAT(error_of("\x1f\x8b\x08"), HasSubstr("FILE:1: expected YAML, got gzip"));
  EXPECT_THAT(error_of("GGUF\3"), HasSubstr("FILE:1: expected YAML, got a GGUF file"));
  const std::string shown = run_axle({"config", "show", "quickstart", "--data", "synthetic"}).out;
  EXPECT_EQ(error_of(shown),
            "axle: FILE:1: expected a config file, got the text of axle config show; its --yaml "
            "prints such a file\n");
}

// Each optimizer of docs/learner.md replaces another one by its name alone.
TEST(ConfigVerbs, AnyOptimizerReplacesAnother) {
  for (const char* recipe : {"quickstart", "gpt2-124M", "gala-test", "honeycrisp-test"}) {
    for (const std::string& name : names_of(typeid(Optimizer))) {
      const Ran ran = run_axle(
          {"config", "show", recipe, "--data", "synthetic", "--set", "learner.optimizer=" + name});
      EXPECT_EQ(ran.code, 0) << recipe << " " << name << ": " << ran.err;
      EXPECT_EQ(ran.out.find("REQUIRED"), ran.out.npos) << recipe << " " << name;
    }
  }
}

TEST(ConfigVerbs, NestedOptimizersInheritTheOldFields) {
  const Arguments rate = {"--set", "learner.optimizer.learning_rate.peak=0.25", "--set",
                          "learner.optimizer.b2=0.75"};
  const auto shown = [&](const std::string& path, const Arguments& optimizers) {
    return resolved("learner.optimizer." + path, joined(rate, optimizers));
  };
  for (const char* name : {"Muon", "Soap"}) {
    EXPECT_EQ(shown("others.b2", {"--set", "learner.optimizer=" + std::string(name)}), "0.75");
    EXPECT_EQ(
        shown("others.learning_rate.peak", {"--set", "learner.optimizer=" + std::string(name)}),
        "0.25");
    EXPECT_EQ(shown("learning_rate.peak", {"--set", "learner.optimizer=" + std::string(name)}),
              "0.25");
  }
  const Arguments clip = {"--set", "learner.optimizer=SkipAndClip"},
                  free = {"--set", "learner.optimizer=ScheduleFree"};
  EXPECT_EQ(shown("inner.learning_rate.peak", clip), "0.25");
  EXPECT_EQ(shown("inner.learning_rate", clip), shown("learning_rate", {}));
  EXPECT_EQ(shown("inner.learning_rate.peak", free), "0.25");
  EXPECT_EQ(shown("inner.learning_rate", free), "ConstantWithWarmup") << "that of ScheduleFree";
  EXPECT_EQ(shown("inner.b1", free), "0.0") << "that of ScheduleFree";
  EXPECT_EQ(shown("inner.b2", free), "0.75");
  // And out of it again.
  const Arguments back = joined(clip, {"--set", "learner.optimizer=Lion"});
  EXPECT_EQ(shown("learning_rate.peak", back), "0.25");
}

TEST_F(ConfigFile, ReplaceMayAllowNoMatch) {
  EXPECT_THAT(error_of("recipe: quickstart\nreplace: {MoE: FeedForward}\n"),
              HasSubstr("MoE: expected at least one match at '**', got none"));
  const std::string path =
      write("recipe: quickstart\nreplace: {MoE: {with: FeedForward, allow_none: true}}\n");
  EXPECT_EQ(run_axle({"config", "show", "--config", path}).code, 0);
}

TEST(ConfigVerbs, CheckNamesWhatIsMissing) {
  const Ran ran = run_axle({"config", "check", "quickstart"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("REQUIRED but not set: input.source.path"));
}

TEST(ConfigVerbs, CheckBuildsTheModel) {
  const Ran ran = run_axle({"config", "check", "quickstart", "--data", "synthetic", "--set",
                            "model.decoder.layers.layer.attention.body.num_kv_heads=3"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("num_kv_heads: must divide num_heads"));
}

TEST_F(ConfigFile, Mistakes) {
  EXPECT_THAT(error_of("recipe: quickstart\nreplce:\n  RMSNorm: LayerNorm\n"),
              StartsWith("axle: FILE:2: no such section: replce; did you mean 'replace'? "
                         "(sections: recipe, replace, modify, set)"));
  EXPECT_THAT(error_of("recipe: quickstart\nset:\n  max_steps: 3\n  model.layrs: 4\n"),
              StartsWith("axle: FILE:4: model.layrs: no such field"));
  EXPECT_THAT(error_of("recipe: quickstart\nreplace:\n  RMSNrm: LayerNorm\n"),
              HasSubstr("FILE:3: no class is called 'RMSNrm'; did you mean 'RMSNorm'"));
  EXPECT_THAT(error_of("recipe: quickstart\nreplace:\n  RMSNorm: {with: LayerNorm, att: x}\n"),
              HasSubstr("FILE:3: replace.RMSNorm: no such key: att; did you mean 'at'"));
  EXPECT_THAT(error_of("recipe: quickstart\nreplace:\n  RMSNorm: {at: x}\n"),
              HasSubstr("expected 'with: Class', got none"));
  EXPECT_THAT(
      error_of("recipe: quickstart\nreplace:\n  RMSNorm: {with: {class: LayerNorm, eps: 1e-3}}\n"),
      HasSubstr("FILE:3: replace.RMSNorm.with: expected the name of a class, got "
                "{\"class\":\"LayerNorm\",\"eps\":\"1e-3\"}; put the fields under set:\n"));
  EXPECT_THAT(error_of("recipe: quickstart\nreplace:\n  LayerNorm: RMSNorm\n"),
              HasSubstr("FILE:3: "));
  EXPECT_THAT(error_of("recipe: quickstart\nreplace:\n  RMSNorm: Linear\n"), HasSubstr("FILE:3: "));
  EXPECT_THAT(error_of("recipe: quickstart\nmodify:\n  - SetMsh: {mesh: data=2}\n"),
              HasSubstr("FILE:3: no Modifier is called 'SetMsh'; did you mean 'SetMesh'"));
  EXPECT_THAT(error_of("recipe: quickstart\nmodify: [SetMesh]\n"),
              HasSubstr("FILE:2: REQUIRED but not set: SetMesh.mesh"));
  EXPECT_THAT(error_of("recipe: quickstart\nset:\n  mesh_rules: [{machine: \"cpu-.*\", modifiers: "
                       "[SetMesh]}]\n"),
              HasSubstr("mesh_rules[0].modifiers[0]: REQUIRED but not set: SetMesh.mesh"));
  const std::string rules = error_of(
      "recipe: quickstart\nset:\n  mesh_rules:\n"
      "    - {machine: \"gpu-.*\", modifiers: [SequenceParallel]}\n"
      "    - {machine: \"cpu-.*\", modifiers: [GradientAcumulation]}\n");
  EXPECT_THAT(rules, StartsWith("axle: FILE:5: mesh_rules[1].modifiers[0]: no Modifier is called "
                                "'GradientAcumulation'; did you mean 'GradientAccumulation'?"));
  EXPECT_EQ(rules.find("mesh_rules"), rules.rfind("mesh_rules")) << rules;
  EXPECT_THAT(error_of("recipe: quickstart\nreplace:\n  RMSNorm: []\n"),
              StartsWith("axle: FILE:3: replace.RMSNorm: expected at least one class, got none\n"));
  EXPECT_THAT(error_of("recipe: quickstart\nmodify:\n  - {class: 3, mesh: data=2}\n"),
              HasSubstr("FILE:3: no Modifier is called '3'"));
  EXPECT_THAT(error_of("recipe: quickstart\nmodify:\n  - {class: [SetMesh], mesh: data=2}\n"),
              HasSubstr("FILE:3: expected one modifier, 'Name' or "));
  EXPECT_THAT(error_of("recipe: quickstart\nmodify: SetMesh\n"),
              HasSubstr("FILE:2: expected a list of modifiers"));
  EXPECT_THAT(error_of("recipe: quickstart\nmodify:\n  - SetRemat: {at: nowhere}\n"),
              HasSubstr("matches none"));
  EXPECT_THAT(error_of("recipe: quickstart\nset: [1]\n"), HasSubstr("FILE:2: expected a mapping"));
  EXPECT_THAT(error_of("recipe: {a\n"), StartsWith("axle: FILE:"));
  EXPECT_THAT(error_of("recipe: quikstart\n"), HasSubstr("did you mean 'quickstart'"));
  EXPECT_THAT(error_of("set: {max_steps: 3}\n"), HasSubstr("RECIPE: expected one of"));
}

// As in lists of mesh rules and of Chain.
TEST_F(ConfigFile, AModifierIsAlsoAClassWithItsFields) {
  const auto shown = [&](const Arguments& changes) {
    const Ran ran = run_axle(joined({"config", "show"}, changes));
    EXPECT_EQ(ran.code, 0) << ran.err;
    return field(ran.out, "learner.ema.decay.value");
  };
  const std::string file = dir_ / "ema.yaml";
  replace_file(file, "recipe: quickstart\nmodify: [{class: SetEma, ema: 0.9}]\n");
  EXPECT_EQ(shown({"--config", file}), "0.9");
  EXPECT_EQ(shown({"quickstart", "--modify", "{class: SetEma, ema: 0.75}"}), "0.75");
}

TEST_F(ConfigFile, ShowYamlRestoresTheConfig) {
  Arguments show = {"config",
                    "show",
                    "quickstart",
                    "--data",
                    "synthetic",
                    "--set",
                    "model.decoder.layers.layer.@remat=SaveDots",
                    "--set",
                    "max_steps=77"};
  const std::string text = run_axle(show).out;
  show.emplace_back("--yaml");
  const std::string path = write(run_axle(show).out);
  EXPECT_EQ(run_axle({"config", "show", "--config", path}).out, text);
  EXPECT_EQ(field(run_axle({"config", "show", "--config", path, "--steps", "78"}).out, "max_steps"),
            "78");
  const Ran both = run_axle({"config", "show", "quickstart", "--config", path});
  EXPECT_EQ(both.code, 2);
  EXPECT_THAT(both.err,
              HasSubstr("expected no recipe beside a file with a whole config, got 'quickstart'"));
}

TEST_F(ConfigFile, Diff) {
  const std::string path = write("recipe: quickstart\nset: {max_steps: 9}\n");
  EXPECT_EQ(run_axle({"config", "diff", "quickstart", "quickstart"}).out, "no differences\n");
  const Ran ran = run_axle({"config", "diff", "quickstart", path, "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto changes = nlohmann::json::parse(ran.out)["changes"];
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes["max_steps"]["after"], "9");
  EXPECT_THAT(run_axle({"config", "diff", "quickstart", "fuji-7B-v2"}).out,
              HasSubstr("model.decoder.model_dim: 128 -> 4096\n"));
  EXPECT_EQ(run_axle({"config", "diff", "quickstart", "nothing"}).code, 2);
}

TEST(ConfigVerbs, ListNamesRecipesClassesAndInputs) {
  const auto all = nlohmann::json::parse(run_axle({"config", "list", "--json"}).out);
  const auto& norm = all["roles"]["Norm"];
  EXPECT_EQ(norm["methods"]["forward"]["inputs"], nlohmann::json({"x", "segment_ids"}));
  EXPECT_EQ(norm["dims"], nlohmann::json({"input_dim"}));
  EXPECT_TRUE(norm["classes"].contains("RMSNorm"));
  EXPECT_TRUE(norm["classes"]["RMSNorm"]["fields"].contains("eps"));
  EXPECT_EQ(all["roles"]["TokenEmbedding"]["methods"]["attend"]["inputs"], nlohmann::json({"x"}));
  EXPECT_EQ(all["roles"]["Model"]["methods"]["logits"]["inputs"], nlohmann::json({"batch"}));
  const std::string text = run_axle({"config", "list"}).out;
  EXPECT_THAT(text, HasSubstr("  quickstart\n"));
  EXPECT_THAT(text, HasSubstr("  forward(x, context)\n"));
}

TEST(ConfigVerbs, JsonOfShow) {
  const auto shown =
      nlohmann::json::parse(run_axle({"config", "show", "quickstart", "--json"}).out);
  EXPECT_EQ(shown["model"]["class"], "CausalLM");
}

}  // namespace
}  // namespace axle
