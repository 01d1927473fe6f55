#include <gmock/gmock.h>

#include "layers/blocks/stack.h"
#include "modifiers/field_modifiers.h"
#include "modifiers/tiny_step_test.h"
#include "nn/remat_policies.h"
#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::ElementsAre;

/// A root with the field that a trainer has.
struct SummaryRoot {
  Child<Model> model = TinyRoot{}.model;
  bool layer_summaries = false;
  AXLE_CONFIG(SummaryRoot, model, layer_summaries)
};
AXLE_REGISTER(SummaryRoot)

void apply(const CollectStats::Config& modifier, ConfigRef root) {
  Child<Modifier>(modifier).build({}, Scope{})->apply(root);
}

TEST(CollectStats, SetsTheSlotsThatMatchAndTurnsSummariesOn) {
  SummaryRoot root;
  const CollectStats::Config modifier{.at = "**.body", .stats = {Rms{}}};
  apply(modifier, root);
  const std::string changes = diff(SummaryRoot{}, root);
  EXPECT_EQ(changes,
            "layer_summaries: false -> true\n"
            "model.decoder.layers.layer.attention.body.@stats[0]: Rms (new)\n"
            "model.decoder.layers.layer.feed_forward.body.@stats[0]: Rms (new)\n");
  apply(modifier, root);
  EXPECT_EQ(diff(SummaryRoot{}, root), changes);
  apply({.at = "**.body", .stats = {}}, root);
  root.layer_summaries = false;
  EXPECT_EQ(diff(SummaryRoot{}, root), "");
}

TEST(CollectStats, UnreadStatisticsDoNotChangeAStep) {
  const CollectStats::Config modifier{.at = "**"};
  const TinyStep before = step_of({}), after = step_of(modified_by(modifier));
  EXPECT_EQ(after.loss, before.loss);
  EXPECT_EQ(after.gradients, before.gradients);
}

TEST(CollectStats, NamesAPatternThatMatchesNothing) {
  EXPECT_EQ(
      error_of([] { changes_by(CollectStats::Config{.at = "**.lair"}); }),
      "CollectStats.at: expected the path of a layer slot, got '**.lair', which matches none");
}

// x = [3, -4, 0, 0]: mean square 25 / 4.
TEST(Statistic, ValuesMatchTheirDefinitions) {
  const HostTensor x({2, 2}, {3.0f, -4.0f, 0.0f, 0.0f});
  std::vector<std::string> names;
  const std::vector<HostTensor> values = eval(
      [&](const Values& v) {
        Values out;
        for (const Statistic& s : {Statistic(Rms{}), Statistic(MaxAbs{}), Statistic(ZeroFraction{}),
                                   Statistic(OutlierFraction{.multiple = 1.5})}) {
          const NamedStatistic found = s(v[0]);
          names.push_back(found.name);
          out.push_back(found.value);
        }
        return out;
      },
      {x});
  EXPECT_THAT(names, ElementsAre("rms", "max_abs", "zeros", "outliers"));
  EXPECT_EQ(values[0].at(0), 2.5);
  EXPECT_EQ(values[1].at(0), 4);
  EXPECT_EQ(values[2].at(0), 0.5);
  EXPECT_EQ(values[3].at(0), 0.25);
}

// Statistics of a loop have one number for each layer, which is that of the layer alone.
TEST(CollectStats, LayersOfALoopReportEach) {
  Child<Block> block(PreNorm::Config{.body = FeedForward::Config{.hidden_dim = FixedDim{6}}});
  block.options.stats = {Rms{}};
  block.options.remat = SaveNothing{};
  auto loop = testing::build_for_test<Repeat>({.num_layers = 2, .layer = block}, {.model_dim = 4});
  const Tree<HostTensor> inputs = testing::LawInputs<Block>::make({.model_dim = 4});
  const auto result = loop.call(inputs, {.training = true});
  const HostTensor& rms = result.summaries.at("repeat/layer/output/rms");
  ASSERT_EQ(rms.shape(), (Shape{2}));
  double squares = 0;
  for (int64_t i = 0; i < result.outputs[0].size(); ++i)
    squares += result.outputs[0].at(i) * result.outputs[0].at(i);
  EXPECT_NEAR(rms.at(1), std::sqrt(squares / double(result.outputs[0].size())), 1e-5);
  EXPECT_NE(rms.at(0), rms.at(1));
}

}  // namespace
}  // namespace axle
