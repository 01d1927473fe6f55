#include "layers/dropout/dropout.h"

#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::build_for_test;

AXLE_LAYER_LAWS(Dropout, {}, {{"some", {.rate = 0.3}}, {"none", {}}})

TEST(Dropout, KeepsTheMeanWhileTraining) {
  auto layer = build_for_test<Dropout>({.rate = 0.25}, {});
  const HostTensor y = layer.run(HostTensor::ones({100, 100}), {.training = true});
  int64_t zeros = 0;
  for (int64_t i = 0; i < y.size(); ++i) {
    zeros += y.at(i) == 0;
    ASSERT_TRUE(y.at(i) == 0 || y.at(i) == 1 / 0.75f) << y.at(i);
  }
  EXPECT_NEAR(static_cast<double>(zeros) / 10000, 0.25, 0.02);
}

TEST(Dropout, DrawsFromTheKey) {
  auto layer = build_for_test<Dropout>({.rate = 0.5}, {});
  const HostTensor x = HostTensor::ones({64});
  EXPECT_EQ(layer.run(x, {.training = true, .seed = 1}),
            layer.run(x, {.training = true, .seed = 1}));
  EXPECT_NE(layer.run(x, {.training = true, .seed = 1}),
            layer.run(x, {.training = true, .seed = 2}));
  EXPECT_ERROR(layer.run(x, {.training = true, .seed = std::nullopt}),
               "dropout: needs a PRNG key; give one to the call");
}

TEST(Dropout, IsTheIdentityOutsideTraining) {
  const HostTensor x = testing::normal_values({8}, 1);
  EXPECT_EQ(build_for_test<Dropout>({.rate = 0.5}, {}).run(x), x);
}

TEST(Dropout, ChecksItsRate) {
  EXPECT_ERROR(build_for_test<Dropout>({.rate = 1}, {}),
               "dropout.rate: expected a number of at least 0 and below 1, got 1.0");
}

}  // namespace
}  // namespace axle
