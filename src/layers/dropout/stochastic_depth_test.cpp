#include "layers/dropout/dropout.h"
#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::build_for_test;

AXLE_LAYER_LAWS(StochasticDepth, {},
                {{"row", {.rate = 0.3}}, {"batch", {.rate = 0.3, .mode = DropUnit::kBatch}}})

TEST(StochasticDepth, DropsWholeRowsAndKeepsTheMean) {
  auto layer = build_for_test<StochasticDepth>({.rate = 0.25}, {});
  const HostTensor y = layer.run(HostTensor::ones({10000, 2}), {.training = true});
  int64_t zeros = 0;
  for (int64_t i = 0; i < y.size(); i += 2) {
    zeros += y.at(i) == 0;
    ASSERT_TRUE(y.at(i) == 0 || y.at(i) == 1 / 0.75f) << y.at(i);
    ASSERT_EQ(y.at(i), y.at(i + 1));
  }
  EXPECT_NEAR(static_cast<double>(zeros) / 10000, 0.25, 0.02);
}

TEST(StochasticDepth, DropsTheWholeBatchAtOnce) {
  auto layer = build_for_test<StochasticDepth>({.rate = 0.5, .mode = DropUnit::kBatch}, {});
  int dropped = 0;
  for (int64_t seed = 0; seed < 200; ++seed) {
    const HostTensor y = layer.run(HostTensor::ones({3, 2}), {.training = true, .seed = seed});
    dropped += y.at(0) == 0;
    for (int64_t i = 0; i < y.size(); ++i) ASSERT_EQ(y.at(i), y.at(0));
  }
  EXPECT_NEAR(dropped, 100, 25);
}

TEST(StochasticDepth, IsTheIdentityOutsideTraining) {
  const HostTensor x = testing::normal_values({8}, 1);
  EXPECT_EQ(build_for_test<StochasticDepth>({.rate = 0.5}, {}).run(x), x);
}

TEST(StochasticDepth, ChecksItsRate) {
  EXPECT_ERROR(build_for_test<StochasticDepth>({.rate = -0.5}, {}),
               "stochastic_depth.rate: expected a number of at least 0 and below 1, got -0.5");
}

}  // namespace
}  // namespace axle
