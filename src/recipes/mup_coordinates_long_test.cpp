// MuP keeps the size of activations and updates in every family, at widths from 64 to 1,024, and a
// wider model does not learn less.
#include "recipes/mup_coordinates_test.h"
#include "recipes/mup_families_test.h"
#include "recipes/mup_optimizers_test.h"
#include "testing/plugin_fixture.h"

namespace axle {
namespace {

class FamilyCoordinatesByWidth : public PluginTest,
                                 public ::testing::WithParamInterface<MuPFamily> {};

TEST_P(FamilyCoordinatesByWidth, KeepTheirSize) {
  const Trainer::Config config = GetParam().config();
  const Coordinates base = CoordinateRun(*runtime_, widened_by_mup(config, 1)).measure(1);
  for (const int64_t factor : {2, 4, 8, 16}) {
    SCOPED_TRACE(fmt::format("width {}", 64 * factor));
    const Trainer::Config wide = widened_by_mup(config, factor);
    expect_same_size(CoordinateRun(*runtime_, wide).measure(1), base, 1.6);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, FamilyCoordinatesByWidth,
                         ::testing::ValuesIn(mup_families(Families::kAll)), kNamedByRecipe);

class OptimizerCoordinatesByWidth : public PluginTest,
                                    public ::testing::WithParamInterface<MuPOptimizer> {};

TEST_P(OptimizerCoordinatesByWidth, KeepTheirSize) {
  const Child<Optimizer>& optimizer = GetParam().config;
  for (const bool is_tied : {true, false}) {
    const Coordinates base =
        CoordinateRun(*runtime_, widened_by_mup(small_model(is_tied), 1, optimizer)).measure(1);
    for (const int64_t factor : {4, 16}) {
      if (factor > GetParam().widest) continue;
      SCOPED_TRACE(fmt::format("width {}, {}", 64 * factor, is_tied ? "tied" : "own head"));
      const Trainer::Config wide = widened_by_mup(small_model(is_tied), factor, optimizer);
      expect_same_size(CoordinateRun(*runtime_, wide).measure(1), base, 1.6);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, OptimizerCoordinatesByWidth,
                         ::testing::ValuesIn(mup_optimizers(OptimizersOf::kAll)),
                         kNamedByOptimizer);

// Heads become larger, not more.
TEST_F(PluginTest, CoordinatesOfLargerHeadsByWidth) {
  const auto coordinates = [&](int64_t factor) {
    return CoordinateRun(*runtime_,
                         widened_by_mup(small_model(), factor, adamw(), Widening::kLargerHeads))
        .measure(1);
  };
  const Coordinates base = coordinates(1);
  for (const int64_t factor : {4, 16}) {
    SCOPED_TRACE(fmt::format("width {}", 64 * factor));
    expect_same_size(coordinates(factor), base, 1.6);
  }
}

// The mean loss of three seeds after six steps, at the widths 64 and 512.
class LossByWidth : public PluginTest {
 protected:
  double loss(const Trainer::Config& config) {
    CoordinateRun run(*runtime_, config);
    double sum = 0;
    for (const int64_t seed : {1, 2, 3}) sum += run.measure(seed, 6).last_loss;
    return sum / 3;
  }
};

TEST_F(LossByWidth, DoesNotGrowWithATiedOrASeparateHead) {
  for (const bool is_tied : {true, false}) {
    SCOPED_TRACE(is_tied ? "tied" : "own head");
    Trainer::Config config = MuPFamily{"quickstart", {{"model.decoder.model_dim", "64"}}}.config();
    if (!is_tied) set(config, "model.decoder.lm_head", "LmHead");
    EXPECT_LE(loss(widened_by_mup(config, 8)), loss(widened_by_mup(config, 1)));
  }
}

}  // namespace
}  // namespace axle
