#include "ir/host_tensor.h"

#include <gtest/gtest.h>

namespace axle {
namespace {

// Tensors from 32 MiB on have pages of their own.
TEST(HostTensor, LargeTensorsAreZeroedCopiedAndMovedLikeSmallOnes) {
  constexpr int64_t kSize = (int64_t{40} << 20) / 4;
  HostTensor large(Type{DType::kF32, {kSize}});
  EXPECT_TRUE(large == HostTensor::zeros({kSize}));
  large.values<float>()[kSize - 1] = 3;
  HostTensor copy = large;
  EXPECT_TRUE(copy == large);
  HostTensor small = HostTensor::ones({2});
  const HostTensor moved = std::move(copy);
  copy = small;
  small = large;
  EXPECT_TRUE(copy == HostTensor::ones({2}));
  EXPECT_TRUE(small == moved);
}

}  // namespace
}  // namespace axle
