#include <gtest/gtest.h>

#include "interop/gguf/gguf_tensors.h"

namespace axle {
namespace {

// Whoever reads the tensor can then say which number its own dtype lacks.
TEST(GgufChanges, NumbersOfF64AreNotMadeInfinite) {
  const HostTensor t({2, 1}, {1e300, 2.0});
  EXPECT_EQ(from_gguf(TensorChange::kOneAdded, t, 0), HostTensor({2, 1}, {1e300, 1.0}));
  EXPECT_EQ(to_gguf(TensorChange::kOneAdded, t, 0), HostTensor({2, 1}, {1e300, 3.0}));
  EXPECT_EQ(from_gguf(TensorChange::kTransposed, t, 0), HostTensor({1, 2}, {1e300, 2.0}));
}

TEST(GgufChanges, OneIsSubtractedInF32) {
  const HostTensor t = HostTensor({1}, {2.0f}).astype(DType::kBF16);
  EXPECT_EQ(from_gguf(TensorChange::kOneAdded, t, 0), HostTensor({1}, {1.0f}));
}

}  // namespace
}  // namespace axle
