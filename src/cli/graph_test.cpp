// Tests `axle graph`.
#include <gmock/gmock.h>

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

TEST(GraphVerb, TakesWhatEveryRecipeVerbTakes) {
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
         "axle: --layer: expected a form that shows layers, got --optimized");
  for (const char* form : {"--op-counts", "--residuals", "--hlo", "--optimized"}) {
    expect({form, "--depth", "1"},
           std::string("axle: --depth: expected --flops, --dot or --svg, got ") + form);
  }
}

TEST(GraphVerb, DrawsByGraphviz) {
  const TempDir dir;
  const std::string file = dir / "step.svg";
  {
    const EnvironmentChange no_programs("PATH", dir / "nothing");
    const Ran ran = graph({"--svg", file});
    EXPECT_EQ(ran.code, 5);
    EXPECT_THAT(ran.err, HasSubstr("install graphviz"));
    EXPECT_FALSE(path_exists(file));
  }
  const Ran ran = graph({"--svg", file});
  if (ran.code == 5) GTEST_SKIP() << ran.err;
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(read_file(file), HasSubstr("</svg>"));
}

}  // namespace
}  // namespace axle
