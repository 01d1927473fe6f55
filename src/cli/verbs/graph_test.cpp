// Tests `axle graph`.
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>

#include "cli/run_test.h"
#include "io/file.h"
#include "testing/environment_change.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Ran graph(const Arguments& more) { return run_axle(joined({"graph", "fuji-test-v1"}, more)); }

TEST(GraphVerb, ShowsLayersByDefault) {
  const Ran text = graph({});
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, StartsWith("layer"));
  EXPECT_THAT(text.out, HasSubstr("feed_forward"));
  EXPECT_EQ(graph({"--flops"}).out, text.out);
  EXPECT_THAT(graph({"--depth", "1"}).out, Not(HasSubstr("feed_forward")));
  const Ran json = graph({"--json", "--layer", "decoder.layers"});
  ASSERT_EQ(json.code, 0) << json.err;
  EXPECT_EQ(nlohmann::json::parse(json.out)["layers"][0]["path"], "model/decoder/layers");
}

TEST(GraphVerb, TakesTheFlagsOfRecipeVerbs) {
  const auto runs = [](const Arguments& more) {
    const Ran ran = graph(joined({"--op-counts", "--json"}, more));
    EXPECT_EQ(ran.code, 0) << ran.err;
    return nlohmann::json::parse(ran.out)["ops"]["dot_general"]["runs"].get<double>();
  };
  EXPECT_GT(runs({}), 1.5 * runs({"--set", "model.decoder.layers.num_layers=2"}));
  // The mesh needs no devices.
  EXPECT_EQ(runs({"--mesh", "fsdp=8"}), runs({}));
  EXPECT_EQ(runs({"--on", "tpu-v5p-8"}), runs({}));
  EXPECT_EQ(run_axle({"graph", "fuji-tset-v1"}).code, 2);
}

TEST(GraphVerb, ShowsOneFormAtATime) {
  EXPECT_THAT(graph({"--residuals"}).out, HasSubstr("computed and kept"));
  EXPECT_THAT(graph({"--hlo"}).out, StartsWith("module @train_step"));
  EXPECT_THAT(graph({"--hlo", "--layer", "decoder.layers.layer"}).out, StartsWith("module @layer"));
  EXPECT_THAT(graph({"--dot"}).out, StartsWith("digraph"));
  EXPECT_EQ(graph({"--dot", "--residuals"}).code, 2);
}

// What the optimizer computes is no part of the forward pass, even if it needs no gradient.
TEST(GraphVerb, LearnerBelongsToTheUpdate) {
  const auto json = [](const Arguments& more) {
    const Ran ran = graph(joined({"--json"}, more));
    EXPECT_EQ(ran.code, 0) << ran.err;
    return nlohmann::json::parse(ran.out);
  };
  const nlohmann::json layers = json({})["layers"];
  std::map<std::string, nlohmann::json> rows;
  for (const nlohmann::json& row : layers) rows[row["path"]] = row;
  for (const char* sum : {"ops", "flops", "bytes"}) {
    SCOPED_TRACE(sum);
    for (const char* path : {"learner", "finite"}) {
      EXPECT_EQ(rows[path][sum]["forward"], 0) << path;
      EXPECT_EQ(rows[path][sum]["backward"], 0) << path;
      EXPECT_GT(rows[path][sum]["update"], 0) << path;
    }
    EXPECT_GT(rows["model"][sum]["forward"], 0);
    EXPECT_EQ(rows["model"][sum]["update"], 0);
  }
  std::map<std::string, int64_t> counts;
  for (const nlohmann::json& op : json({"--op-counts"})["ops"]) {
    for (const char* stage : {"forward", "backward", "update"})
      counts[stage] += op[stage].get<int64_t>();
  }
  for (const auto& [stage, count] : counts) EXPECT_EQ(layers[0]["ops"][stage], count) << stage;
  EXPECT_EQ(json({"--flops"})["layers"], layers);
  const nlohmann::json forms = json({})["forms"];
  EXPECT_EQ(forms.size(), 2u);
  EXPECT_THAT(forms["model/decoder"].get<std::string>(), StartsWith("the loss at once: "));
  EXPECT_THAT(forms["model/decoder/layers/layer/attention/body/core"].get<std::string>(),
              ::testing::HasSubstr("(core.blocks.from)"));
  EXPECT_THAT(graph({"--dot"}).out, Not(HasSubstr("learner")));
}

// Nothing but the backward pass reads the log-sum-exp and what rounding took from the result.
TEST(GraphVerb, ResidualsOfAttentionByBlocksHaveNames) {
  const std::string core = "model.decoder.layers.layer.attention.body.core";
  const std::string remat = "model.decoder.layers.layer.@remat";
  for (const Arguments& more :
       {Arguments{}, set_flags({remat + "=SaveEverything"}),
        set_flags({remat + "=SaveNames", remat + ".names=[attention_*]"})}) {
    const Ran ran = graph(joined(joined({"--residuals", "--json", "--layer", core},
                                        set_flags({core + ".blocks={from: 16, queries: 16, "
                                                          "keys: 16}"})),
                                 more));
    ASSERT_EQ(ran.code, 0) << ran.err;
    std::vector<std::string> names;
    const nlohmann::json json = nlohmann::json::parse(ran.out);
    for (const nlohmann::json& value : json["values"]) names.push_back(value["name"]);
    EXPECT_THAT(names,
                ::testing::ElementsAre("attention_log_sum", "attention_log_sum",
                                       "attention_blocks, attention_context", "attention_blocks"));
  }
}

TEST(GraphVerb, NamesTheNearestLayer) {
  const Ran ran = graph({"--layer", "decoder.layrs"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--layer: expected the path of a layer with ops, got "
                                 "'decoder.layrs'; did you mean 'model/decoder/layers'?"));
}

TEST(GraphVerb, RefusesFlagsThatAFormDoesNotHave) {
  const auto expect = [](const Arguments& more, const std::string& message) {
    const Ran ran = graph(more);
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.err, message + "\n");
    EXPECT_EQ(ran.out, "");
  };
  expect({"--optimized", "--layer", "decoder.layers"},
         "axle: --layer: expected a form that shows layers, got --optimized; leave out --layer");
  for (const std::string form : {"--op-counts", "--residuals", "--hlo", "--optimized"}) {
    expect({form, "--depth", "1"},
           "axle: --depth: expected --flops, --dot or --svg, got " + form + "; leave out --depth");
  }
  for (const std::string form : {"--hlo", "--optimized", "--dot"}) {
    expect({form, "--json"}, "axle: --json: expected --flops, --op-counts or --residuals, got " +
                                 form + "; leave out --json");
  }
  expect({"--svg", "x.svg", "--json"},
         "axle: --json: expected --flops, --op-counts or --residuals, got --svg; leave out --json");
  expect({"--dot", "--residuals"},
         "axle: --dot: expected one form, got also --residuals; leave out one");
  expect({"--svg=x.svg", "--flops"},
         "axle: --svg: expected one form, got also --flops; leave out one");
  expect({"--depth", "-1"}, "axle: --depth: expected at least 0, got -1");
  expect({"--dot", "--depth", "0"}, "axle: --depth: expected at least 1, got 0");
  expect({"--layer", ""}, "axle: --layer: expected the path of a layer, got an empty text");
  const Ran svg = graph({"--svg", ""});
  EXPECT_EQ(svg.code, 2);
  EXPECT_THAT(svg.err, HasSubstr("--svg: expected a path, got an empty text"));
}

TEST(GraphVerb, MissingDataAreRefused) {
  const Ran ran = graph({"--data", "/nonexistent"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_EQ(
      ran.err,
      "axle: --data: /nonexistent: expected a text file or a folder of them, got nothing there; "
      "leave out --data, which this command does not read\n");
  const TempDir dir;
  EXPECT_EQ(graph({"--data", text_file(dir)}).code, 0);
  EXPECT_EQ(graph({"--data", "synthetic"}).code, 0);
}

TEST(GraphVerb, TakesOneRecipe) {
  EXPECT_EQ(run_axle({"graph", "quickstart", "extra"}).err,
            "axle graph: expected 1 argument (RECIPE), got one too many: 'extra'; see axle graph "
            "--help\n");
  EXPECT_THAT(graph({"--op-count"}).err, HasSubstr("did you mean '--op-counts'?"));
  const TempDir dir;
  EXPECT_EQ(run_axle({"graph", text_file(dir)}).err,
            "axle: RECIPE: expected a name, or the folder of a run or a model, got the file " +
                (dir / "text.txt") + "; --config takes a file\n");
  EXPECT_EQ(run_axle({"graph", dir.path().string()}).code, 2);
}

// The memory of a training state is no answer to a wrong name.
TEST(GraphVerb, ErrorsForWrongNamesDoNotReportMemory) {
  const auto expect = [](const Arguments& command) {
    const Ran ran = run_axle(command);
    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.err, HasSubstr("did you mean")) << ran.err;
    EXPECT_THAT(ran.err, Not(HasSubstr("training state"))) << ran.err;
  };
  const Arguments tag = set_flags({"model.decoder.layers.layer.@remat=SaveNames",
                                   "model.decoder.layers.layer.@remat.names=[q_porj]"});
  for (const Arguments& command :
       std::vector<Arguments>{{"graph", "fuji-test-v9"},
                              {"graph", "fuji-test-v1", "--layer", "decoder.layrs"},
                              {"graph", "fuji-test-v1", "--residual"},
                              {"graph", "fuji-test-v1", "--on", "cpu:8", "--mesh", "dat=8"},
                              joined({"graph", "fuji-test-v1"}, tag),
                              joined({"compile", "fuji-test-v1", "--on", "cpu:1"}, tag)})
    expect(command);
}

TEST(GraphVerb, OverwritesNoConfig) {
  const TempDir dir;
  const std::string file = dir / "config.yaml";
  replace_file(file, "recipe: fuji-test-v1\n");
  const Ran ran = run_axle({"graph", "--config", file, "--svg", file});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--svg: expected a file that this command does not use"));
  EXPECT_EQ(read_file(file), "recipe: fuji-test-v1\n");
}

TEST(GraphVerb, DrawsByGraphviz) {
  const TempDir dir;
  const std::string file = dir / "step.svg";
  {
    const EnvironmentChange no_programs("PATH", dir / "nothing");
    const Ran ran = graph({"--svg", file});
    EXPECT_EQ(ran.code, 5);
    EXPECT_THAT(ran.err, HasSubstr("install the package graphviz"));
    EXPECT_FALSE(path_exists(file));
  }
  const Ran ran = graph({"--svg", file});
  if (ran.code == 5) GTEST_SKIP() << ran.err;
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(read_file(file), HasSubstr("</svg>"));
}

}  // namespace
}  // namespace axle
