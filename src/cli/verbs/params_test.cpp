#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/run_test.h"

namespace axle {
namespace {

TEST(Params, TakesTheFlagsOfRecipeVerbs) {
  const Ran ran =
      run_axle({"params", "quickstart", "--json", "--set", "model.decoder.layers.num_layers=1"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json.size(), 2u);
  EXPECT_TRUE(json["params"].contains("decoder/layers/layer0/attention/norm/scale"));
  EXPECT_FALSE(json["params"].contains("decoder/layers/layer1/attention/norm/scale"));
  EXPECT_EQ(run_axle({"params", "quickstrat"}).code, 2);
}

TEST(Params, TakesARun) {
  const TempDir dir;
  const Ran trained = run_axle(joined({"train", "quickstart", "--data", "synthetic", "--steps", "1",
                                       "--dir", dir / "run", "--backend", "interpreter"},
                                      tiny_quickstart()));
  ASSERT_EQ(trained.code, 0) << trained.err;
  const Ran ran = run_axle({"params", dir / "run", "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json["params"]["decoder/output_norm/scale"]["shape"], nlohmann::json({8}));
}

}  // namespace
}  // namespace axle
