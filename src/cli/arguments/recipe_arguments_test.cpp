#include "cli/arguments/recipe_arguments.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/text/text.h"
#include "cli/arguments/parse_test.h"
#include "config/serialize.h"
#include "io/file.h"
#include "learn/learner.h"
#include "recipes/recipe.h"
#include "testing/checkout.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> paths_of_use(const UseData& use) {
  std::vector<std::string> out = {use.data};
  out.insert(out.end(), use.more.begin(), use.more.end());
  return out;
}

struct Flags {
  RecipeArguments arguments;
  std::function<void(CLI::App&)> add = [this](CLI::App& app) { arguments.add_to(app); };

  explicit Flags(std::vector<std::string> words = {}) { parse(add, std::move(words)); }
  // Each edit in the form of a flag.
  std::vector<std::string> edits() const {
    std::vector<std::string> out;
    for (const Edit& edit : arguments.request().edits) {
      if (const auto* field = std::get_if<SetField>(&edit))
        out.push_back(field->path + "=" + field->text);
      else
        out.push_back("data " + join(paths_of_use(std::get<UseData>(edit)), ", "));
    }
    return out;
  }
};

TEST(RecipeArguments, FlagsThatChangeFieldsKeepTheirOrder) {
  const Flags flags(
      {"quickstart", "--steps", "3", "--set", "seed=1", "--mesh", "data=2", "--seed", "2"});
  EXPECT_EQ(flags.arguments.request().recipe, "quickstart");
  EXPECT_THAT(flags.edits(), ElementsAre("max_steps=3", "seed=1", "mesh=data=2", "seed=2"));
  EXPECT_EQ(flags.arguments.resolve().config.seed, 2) << "the last one wins";
}

TEST(RecipeArguments, SeveralDataFlagsAreOneEditAtTheLast) {
  EXPECT_THAT(Flags({"--data", "b.txt", "--seed", "1", "--data", "a.txt"}).edits(),
              ElementsAre("seed=1", "data b.txt, a.txt"));
  EXPECT_THAT(Flags({"--data", "a\xff"}).edits(), ElementsAre("data a\\xff"));
}

TEST(RecipeArguments, SetIsAPathAndAValue) {
  const Flags flags({"--set", "a.b==c"});
  EXPECT_THAT(flags.edits(), ElementsAre("a.b==c"));
  RecipeArguments other;
  const auto add = [&](CLI::App& app) { other.add_to(app); };
  EXPECT_EQ(parse_error(add, {"--set", "seed"}), "--set: expected PATH=VALUE, got 'seed'");
  EXPECT_EQ(parse_error(add, {"--set", "=1"}), "--set: expected PATH=VALUE, got '=1'");
}

TEST(RecipeArguments, MachineComesFromTheTarget) {
  EXPECT_FALSE(Flags().arguments.target());
  const Flags flags({"--on", "cpu:8"});
  EXPECT_EQ(flags.arguments.request().machine, "cpu-8");
  EXPECT_THAT(error_of([] { Flags({"--on", "gpu:none:8"}); }), HasSubstr("gpu:none:8"));
}

TEST(RecipeArguments, FilesAreReadWhenTheConfigIsAskedFor) {
  const TempDir dir;
  replace_file(dir / "mine.yaml", "recipe: quickstart\nset: {seed: 5}\n");
  const Flags flags({"--config", dir / "mine.yaml"});
  EXPECT_THAT(flags.arguments.files(), ElementsAre(dir / "mine.yaml"));
  EXPECT_EQ(flags.arguments.resolve().config.seed, 5);
  EXPECT_EQ(error_of([] {
              Flags({"--config", "none.yaml"}).arguments.request();
            }),
            "none.yaml: expected a config file, got nothing there");
}

TEST(RecipeArguments, MissingDataAreReportedByVerbsThatReadNone) {
  const auto error = [](const std::string& data) {
    return error_of<DataError>([&] { Flags({"--data", data}).arguments.check_data(); });
  };
  EXPECT_EQ(error("synthetic"), "no error");
  EXPECT_EQ(
      error("none.txt"),
      "--data: none.txt: expected a text file or a folder of them, got nothing there; leave out "
      "--data, which this command does not read");
}

TEST(RecipeArguments, ModelTunedWithoutARecipeTakesTheDtypeOfItsParameters) {
  const std::filesystem::path llama = reference_file("hugging_face/llama");
  const auto tuned = [&](const std::filesystem::path& model, const std::optional<DType>& dtype) {
    return Flags().arguments.resolve("cpu", {.model = model, .dtype = dtype}).config;
  };
  EXPECT_FALSE(tuned(llama, {}).model.options.dtype);
  EXPECT_EQ(tuned(llama, DType::kBF16).model.options.dtype, DType::kBF16);
  EXPECT_EQ(
      error_of([&] {
        Flags({"quickstart"}).arguments.resolve("cpu", {.model = llama, .dtype = DType::kBF16});
      }),
      "--dtype: expected --init-from and no recipe, whose model has a dtype; set "
      "model.@dtype");
}

TEST(RecipeArguments, FilesWithoutARecipeChangeARunThatBeginsWithAModel) {
  const std::filesystem::path llama = reference_file("hugging_face/llama");
  const auto resolve = [&](const std::vector<std::string>& words) {
    return Flags(words).arguments.resolve("cpu", {.model = llama});
  };
  const TempDir dir;
  const auto file = [&](const char* name, const std::string& text) {
    replace_file(dir / name, text);
    return std::string(dir / name);
  };
  const std::string steps = file("steps.yaml", "set: {max_steps: 7, seed: 3}"),
                    lora = file("lora.yaml", "modify: [lora: {rank: 2}]"),
                    recipe = file("recipe.yaml", "recipe: quickstart"),
                    whole = file("whole.yaml", to_yaml(axle::recipe("quickstart")));
  const Resolved both = resolve({"--seed", "4", "--config", steps, "--config", lora});
  EXPECT_EQ(both.config.max_steps, 7);
  EXPECT_EQ(both.config.seed, 4) << "flags come after files";
  EXPECT_EQ(both.report.recipe, "fine-tuned-llama");
  // Adapters of a file are those of the flag.
  const std::string by_flag = to_yaml(resolve({"--lora", "rank=2"}).config);
  EXPECT_EQ(to_yaml(resolve({"--config", lora}).config), by_flag);
  EXPECT_EQ(to_yaml(resolve({"--modify", "LoRA: {rank: 2}"}).config), by_flag);
  EXPECT_NE(to_yaml(resolve({"--config", steps, "--steps", "200", "--seed", "0"}).config), by_flag);
  // A model as RECIPE takes them too.
  EXPECT_EQ(to_yaml(Flags({llama, "--config", lora}).arguments.resolve().config), by_flag);
  // A file with a recipe or a whole config is one.
  const std::string quickstart = to_yaml(Flags({"quickstart"}).arguments.resolve().config);
  EXPECT_EQ(to_yaml(resolve({"--config", recipe}).config), quickstart);
  EXPECT_EQ(resolve({"--config", whole}).report.recipe, "");
  EXPECT_THAT(error_of([&] {
                Flags({"--config", steps}).arguments.resolve();
              }),
              HasSubstr("or a file with 'recipe:', got none"));
  for (const char* flag : {"--dpo", "--lora"}) {
    const char* const fields = std::string_view(flag) == "--dpo" ? "beta=0.1" : "rank=2";
    EXPECT_EQ(error_of([&] {
                Flags({flag, fields}).arguments.resolve();
              }),
              std::string(flag) +
                  ": expected a model to begin with, got none; name it by axle "
                  "train --init-from, or a recipe by RECIPE");
  }
}

TEST(RecipeArguments, TuningAModelWithAdaptersTrainsOnlyTheAdapters) {
  const Trainer::Config config =
      Flags()
          .arguments.resolve("cpu", {.model = reference_file("peft/llama"), .dtype = DType::kBF16})
          .config;
  const auto& learner = *config.learner.get_if<Learner>();
  EXPECT_THAT(learner.frozen, ElementsAre("**"));
  EXPECT_THAT(learner.trained, ElementsAre("**.lora_down", "**.lora_up"));
  const auto model = config.model.build({}, Scope{.path = "model"});
  int num_adapters = 0;
  for (const auto& [path, spec] : model->param_specs()) {
    const bool is_adapter = path.find("/lora_") != path.npos;
    num_adapters += is_adapter;
    EXPECT_EQ(spec.type().dtype, is_adapter ? DType::kF32 : DType::kBF16) << path;
  }
  EXPECT_EQ(num_adapters, 8);
}

TEST(RecipeArguments, ParametersTrainedWithAdaptersStayTrained) {
  const std::filesystem::path llama = reference_file("hugging_face/llama");
  const TempDir dir;
  std::filesystem::create_directory(dir / "run");
  const Flags first({"--lora", "rank=2,also_train=**.norm.scale", "--data", "synthetic"});
  replace_file(dir / "run/config.yaml",
               to_yaml(first.arguments.resolve("cpu", {.model = llama}).config));
  const Trainer::Config config =
      Flags({"--data", "synthetic"}).arguments.resolve("cpu", {.model = dir / "run"}).config;
  EXPECT_THAT(config.learner.get_if<Learner>()->trained,
              ElementsAre("**.lora_down", "**.lora_up", "**.norm.scale"));
}

TEST(RecipeArguments, AdaptersOfTheStartStayAndOtherSettingsAreRefused) {
  const std::string start = reference_file("peft/llama");  // rank 3, alpha 5, without dropout
  const auto error = [&](const std::string& flag, const std::string& fields) {
    return error_of([&] { Flags({flag, fields}).arguments.resolve("cpu", {.model = start}); });
  };
  for (const std::string flag : {"--lora", "--qlora"}) {
    EXPECT_THAT(error(flag, "rank=8"),
                AllOf(HasSubstr(flag + ": rank: expected 3, as the adapters of " + start),
                      HasSubstr("got 8; leave it out to train them on, or axle checkpoint merge " +
                                start + " --dir NEW and begin with NEW")));
    EXPECT_THAT(error(flag, "rank=3,alpha=6"), HasSubstr(flag + ": alpha: expected 5, "));
    EXPECT_THAT(error(flag, "dropout=0.5"), HasSubstr(flag + ": dropout: expected 0, "));
  }
  EXPECT_EQ(error("--lora", "alpha=5"), "no error");
  EXPECT_EQ(error("--qlora", "rank=3,alpha=5,bits=8,group=8"), "no error");
  EXPECT_THAT(error("--qlora", "rank=8,bits=8,group=8"), HasSubstr("--qlora: rank: expected 3"));
  // Where the start has no adapter, new ones may be of any kind.
  const std::string at = "at=\"**.attention.body.qkv.inner.k_proj.**\",rank=8";
  EXPECT_EQ(error("--lora", at), "no error");
}

// They are scaled by lora_alpha / sqrt(rank).
TEST(RecipeArguments, AlphaOfRsLoraAdaptersComesFromTheirConfig) {
  const TempDir dir;
  const std::filesystem::path start = dir / "start", peft = reference_file("peft/llama");
  std::filesystem::copy(peft, start);
  auto fields = nlohmann::json::parse(read_file(peft / "adapter_config.json"));
  fields["use_rslora"] = true;
  fields["base_model_name_or_path"] = reference_file("hugging_face/llama");
  replace_file(start / "adapter_config.json", fields.dump());
  const auto error = [&](const std::string& alpha) {
    return error_of([&] {
      Flags({"--lora", "alpha=" + alpha}).arguments.resolve("cpu", {.model = start});
    });
  };
  EXPECT_EQ(error("5"), "no error");
  EXPECT_THAT(error("6"), HasSubstr("--lora: alpha: expected 5, as the adapters of "));
}

TEST(RecipeArguments, LoraAndQloraExcludeEachOther) {
  RecipeArguments arguments;
  EXPECT_EQ(parse_error([&](CLI::App& app) { arguments.add_to(app); },
                        {"--lora", "rank=2", "--qlora", "rank=2"}),
            "--lora excludes --qlora");
}

TEST(RecipeArguments, MistakesInAFlagNameIt) {
  const std::string start = reference_file("hugging_face/llama");
  EXPECT_THAT(error_of([&] {
                Flags({"--lora", "at={[}"}).arguments.resolve("cpu", {.model = start});
              }),
              ::testing::StartsWith("--lora:"));
}

// A run is a whole config, that of its newest checkpoint; an import is read as far as it goes.
TEST(RecipeArguments, AFolderWithAConfigIsARecipe) {
  const TempDir dir;
  std::filesystem::create_directory(dir / "run");
  Trainer::Config config = axle::recipe("quickstart");
  config.seed = 5;
  replace_file(dir / "run/config.yaml", to_yaml(config));
  EXPECT_EQ(Flags({dir / "run"}).arguments.resolve().config.seed, 5);
  EXPECT_EQ(Flags({dir / "run", "--seed", "6"}).arguments.resolve().config.seed, 6);
  EXPECT_EQ(error_of([&] { Flags({dir.path()}).arguments.resolve(); }),
            "RECIPE: expected a name, or the folder of a run or a model, got the folder " +
                dir.path().string());
}

TEST(ResolveNamed, TakesRecipesFilesAndFoldersOfRuns) {
  const TempDir dir;
  replace_file(dir / "mine.yaml", "recipe: quickstart\nset: {seed: 5}\n");
  replace_file(dir / "config.yaml", "recipe: quickstart\nset: {seed: 6}\n");
  EXPECT_EQ(resolve_named("quickstart", "cpu:2").config.seed, 0);
  EXPECT_EQ(resolve_named(dir / "mine.yaml", {}).config.seed, 5);
  EXPECT_EQ(resolve_named(dir.path().string(), {}).config.seed, 6);
  EXPECT_THAT(error_of([] { resolve_named("quickstrat", {}); }),
              HasSubstr("did you mean 'quickstart'?"));
}

}  // namespace
}  // namespace axle::cli
