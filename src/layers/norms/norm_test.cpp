#include "layers/norms/norm.h"

#include "layers/norms/batch_norms.h"
#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::build_for_test;
using testing::normal_values;

AXLE_LAYER_LAWS(RMSNorm, {.input_dim = 5},
                {{"default", {}},
                 {"input", {.zero_centred = ZeroCentred::kInput}},
                 {"scale", {.zero_centred = ZeroCentred::kScale}}})
AXLE_LAYER_LAWS(LayerNorm, {.input_dim = 5}, {{"default", {}}})
AXLE_LAYER_LAWS(L2Norm, {.input_dim = 5}, {{"default", {}}})
AXLE_LAYER_LAWS(GroupNorm, {.input_dim = 6},
                {{"default", {.num_groups = 2}},
                 {"rms_norm", {.num_groups = 3, .moments = GroupMoments::kRMSNorm}},
                 {"channels", {.num_groups = 2, .axes = std::vector<int64_t>{}}}})
AXLE_LAYER_LAWS(BatchNorm, {.input_dim = 3}, {{"default", {}}})

TEST(RMSNorm, DividesByTheRootMeanSquare) {
  auto layer = build_for_test<RMSNorm>({.eps = 1e-30f}, {.input_dim = 2});
  layer.set("scale", HostTensor({2}, {1.0f, 10.0f}));
  const float rms = std::sqrt(12.5f);
  EXPECT_ALLCLOSE(layer.run(HostTensor({1, 2}, {3.0f, 4.0f})),
                  HostTensor({1, 2}, {3 / rms, 40 / rms}));
}

TEST(RMSNorm, ACentredInputIsDividedByTheRootOfTheWholeMeanSquare) {
  auto layer = build_for_test<RMSNorm>({.eps = 1e-30f, .zero_centred = ZeroCentred::kInput},
                                       {.input_dim = 2});
  layer.set("scale", HostTensor({2}, {1.0f, 10.0f}));
  const float rms = std::sqrt(12.5f);
  EXPECT_ALLCLOSE(layer.run(HostTensor({1, 2}, {3.0f, 4.0f})),
                  HostTensor({1, 2}, {-0.5f / rms, 5 / rms}));
}

TEST(RMSNorm, AScaleAroundOneIsAddedToOne) {
  auto centred = build_for_test<RMSNorm>({.zero_centred = ZeroCentred::kScale}, {.input_dim = 2});
  auto plain = build_for_test<RMSNorm>({}, {.input_dim = 2});
  centred.set("scale", HostTensor({2}, {0.25f, -0.5f}));
  plain.set("scale", HostTensor({2}, {1.25f, 0.5f}));
  const HostTensor x = normal_values({3, 2}, 1);
  EXPECT_ALLCLOSE(centred.run(x), plain.run(x));
  EXPECT_EQ(testing::initial_parameters(centred.layer(), 0).at("rms_norm/scale"),
            HostTensor::zeros({2}));
}

TEST(LayerNorm, SubtractsTheMeanWithoutCancellation) {
  auto layer = build_for_test<LayerNorm>({.eps = 1e-30f}, {.input_dim = 2});
  layer.set("scale", HostTensor::ones({2})).set("bias", HostTensor({2}, {0.0f, 5.0f}));
  EXPECT_ALLCLOSE(layer.run(HostTensor({1, 2}, {10000.0f, 10002.0f})),
                  HostTensor({1, 2}, {-1.0f, 6.0f}));
}

TEST(L2Norm, ReturnsVectorsOfLengthOne) {
  auto layer = build_for_test<L2Norm>({.eps = 1e-30f}, {.input_dim = 2});
  EXPECT_TRUE(layer.parameters().empty());
  EXPECT_ALLCLOSE(layer.run(HostTensor({2, 2}, {3.0f, 4.0f, 0.0f, -2.0f})),
                  HostTensor({2, 2}, {0.6f, 0.8f, 0.0f, -1.0f}));
}

GroupNorm::Config two_groups(GroupMoments moments, std::optional<std::vector<int64_t>> axes) {
  return {.num_groups = 2, .eps = 1e-30f, .moments = moments, .axes = std::move(axes)};
}

TEST(GroupNorm, NormalisesEachGroupOverTheDimsOfItsRow) {
  // One row, two positions, two groups of one channel each.
  const HostTensor x({1, 2, 2}, {1.0f, 10.0f, 3.0f, 20.0f});
  const auto run = [&](GroupMoments moments, std::optional<std::vector<int64_t>> axes) {
    auto layer = build_for_test<GroupNorm>(two_groups(moments, std::move(axes)), {.input_dim = 2});
    layer.set("scale", HostTensor::ones({2})).set("bias", HostTensor::zeros({2}));
    if (moments == GroupMoments::kRMSNorm)
      layer.set_all({{"group_norm/scale", HostTensor::ones({2})}});
    return layer.run(x);
  };
  EXPECT_ALLCLOSE(run(GroupMoments::kLayerNorm, std::nullopt),
                  HostTensor({1, 2, 2}, {-1.0f, -1.0f, 1.0f, 1.0f}));
  EXPECT_EQ(run(GroupMoments::kLayerNorm, {{1}}), run(GroupMoments::kLayerNorm, std::nullopt));
  EXPECT_EQ(run(GroupMoments::kLayerNorm, {{-2, -1}}), run(GroupMoments::kLayerNorm, {{1}}));
  const float a = std::sqrt(5.0f), b = std::sqrt(250.0f);
  EXPECT_ALLCLOSE(run(GroupMoments::kRMSNorm, std::nullopt),
                  HostTensor({1, 2, 2}, {1 / a, 10 / b, 3 / a, 20 / b}));
  EXPECT_ALLCLOSE(run(GroupMoments::kRMSNorm, std::vector<int64_t>{}),
                  HostTensor({1, 2, 2}, {1.0f, 1.0f, 1.0f, 1.0f}));
}

// Statistics are of the row without its padding, regardless of what the padding holds.
TEST(GroupNorm, LeavesOutPadding) {
  for (const GroupMoments moments : {GroupMoments::kLayerNorm, GroupMoments::kRMSNorm}) {
    auto layer = build_for_test<GroupNorm>(two_groups(moments, std::nullopt), {.input_dim = 4});
    HostTensor padded = normal_values({1, 3, 4}, 2);
    const HostTensor first = testing::detail::tokens_from(padded, {0}, 2);
    padded.values<float>()[9] = std::numeric_limits<float>::infinity();
    const HostTensor got =
        layer.call({{"x", padded}, {"segment_ids", HostTensor({1, 3}, {1, 2, 0})}}).outputs[0];
    EXPECT_ALLCLOSE(testing::detail::tokens_from(got, {0}, 2), layer.run(first));
  }
}

TEST(GroupNorm, ChecksItsFields) {
  EXPECT_ERROR(build_for_test<GroupNorm>({.num_groups = 3}, {.input_dim = 8}),
               "group_norm.num_groups: must divide the 8 channels, got 3");
  EXPECT_ERROR(build_for_test<GroupNorm>({.num_groups = 2, .axes = std::vector<int64_t>{0}},
                                         {.input_dim = 8}),
               "group_norm.axes: expected dims of one row, got 0, the dim of the batch");
  EXPECT_ERROR((build_for_test<GroupNorm>({.num_groups = 2, .axes = std::vector<int64_t>{3}},
                                          {.input_dim = 8})
                    .run(HostTensor::ones({1, 2, 8}))),
               "group_norm: axes: expected dims of x after the batch, got 3 for f32[1, 2, 8]");
}

TEST(BatchNorm, TrainsByTheBatchAndEvaluatesByTheMovingAverages) {
  auto layer = build_for_test<BatchNorm>({.decay = 0.75, .eps = 1e-30f}, {.input_dim = 1});
  layer.set("scale", HostTensor({1}, {2.0f})).set("bias", HostTensor({1}, {5.0f}));
  const Tree<HostTensor> x{{"x", HostTensor({2, 2, 1}, {1.0f, 3.0f, 1.0f, 3.0f})}};
  const auto trained = layer.call(x, {.training = true});
  EXPECT_ALLCLOSE(trained.outputs[0], HostTensor({2, 2, 1}, {3.0f, 7.0f, 3.0f, 7.0f}));
  EXPECT_EQ(trained.state.at("batch_norm/moving_mean"), HostTensor({1}, {0.5f}));
  EXPECT_EQ(trained.state.at("batch_norm/moving_variance"), HostTensor({1}, {1.0f}));

  const auto evaluated = layer.call(x, {.state = trained.state});
  EXPECT_ALLCLOSE(evaluated.outputs[0], HostTensor({2, 2, 1}, {6.0f, 10.0f, 6.0f, 10.0f}));
  EXPECT_TRUE(evaluated.state.empty());
}

TEST(BatchNorm, LeavesOutPadding) {
  auto layer = build_for_test<BatchNorm>({.decay = 0.5, .eps = 1e-30f}, {.input_dim = 1});
  const auto trained = layer.call({{"x", HostTensor({2, 2, 1}, {1.0f, 3.0f, 5.0f, 1e30f})},
                                   {"segment_ids", HostTensor({2, 2}, {1, 1, 1, 0})}},
                                  {.training = true});
  EXPECT_ALLCLOSE(trained.state.at("batch_norm/moving_mean"), HostTensor({1}, {1.5f}));
  EXPECT_ALLCLOSE(trained.state.at("batch_norm/moving_variance"),
                  HostTensor({1}, {0.5f + 4.0f / 3}));
}

}  // namespace
}  // namespace axle
