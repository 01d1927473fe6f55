#include "layers/norms/layer_norm.h"
#include "layers/norms/rms_norm.h"
#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::build_for_test;

AXLE_LAYER_LAWS(RMSNorm, {.input_dim = 5}, {{"default", {}}})
AXLE_LAYER_LAWS(LayerNorm, {.input_dim = 5}, {{"default", {}}})

TEST(RMSNorm, DividesByTheRootMeanSquare) {
  auto layer = build_for_test<RMSNorm>({.eps = 1e-30f}, {.input_dim = 2});
  layer.set("scale", HostTensor({2}, {1.0f, 10.0f}));
  const float rms = std::sqrt(12.5f);
  EXPECT_ALLCLOSE(layer.run(HostTensor({1, 2}, {3.0f, 4.0f})),
                  HostTensor({1, 2}, {3 / rms, 40 / rms}));
}

TEST(LayerNorm, SubtractsTheMeanWithoutCancellation) {
  auto layer = build_for_test<LayerNorm>({.eps = 1e-30f}, {.input_dim = 2});
  layer.set("scale", HostTensor::ones({2})).set("bias", HostTensor({2}, {0.0f, 5.0f}));
  EXPECT_ALLCLOSE(layer.run(HostTensor({1, 2}, {10000.0f, 10002.0f})),
                  HostTensor({1, 2}, {-1.0f, 6.0f}));
}

}  // namespace
}  // namespace axle
