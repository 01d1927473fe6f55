#include "layers/moving_average.h"

#include "testing/test_layer.h"

namespace axle {
namespace {

using testing::build_for_test;

TEST(MovingAverage, IsPlainAtFirstAndExponentialLater) {
  auto layer = build_for_test<MovingAverage>({.min_weight = 0.4}, {.shape = {2}});
  Tree<HostTensor> state;
  const auto add = [&](float x) {
    const auto result =
        layer.call({{"x", HostTensor({2}, {x, -x})}}, {.training = true, .state = state});
    state = result.state;
    return result.outputs[0];
  };
  EXPECT_EQ(add(4), HostTensor({2}, {4.0f, -4.0f}));
  EXPECT_EQ(add(8), HostTensor({2}, {6.0f, -6.0f}));
  EXPECT_ALLCLOSE(add(1), HostTensor({2}, {4.0f, -4.0f}));
  EXPECT_EQ(state.at("moving_average/count"), HostTensor::scalar(int32_t{3}));
  EXPECT_ALLCLOSE(state.at("moving_average/value"), HostTensor({2}, {4.0f, -4.0f}));
}

TEST(MovingAverage, StateChangesOnlyInTraining) {
  auto layer = build_for_test<MovingAverage>({.min_weight = 0.5}, {});
  const auto result =
      layer.call({{"x", HostTensor::scalar(3.0f)}},
                 {.state = {{"moving_average/count", HostTensor::scalar(int32_t{9})},
                            {"moving_average/value", HostTensor::scalar(1.0f)}}});
  EXPECT_EQ(result.outputs[0], HostTensor::scalar(2.0f));
  EXPECT_TRUE(result.state.empty());
}

TEST(MovingAverage, ChecksItsWeight) {
  EXPECT_ERROR(build_for_test<MovingAverage>({.min_weight = 2}, {}),
               "moving_average.min_weight: expected a number from 0 to 1, got 2.0");
}

}  // namespace
}  // namespace axle
