#include "base/error.h"
#include "ops/create.h"
#include "ops/random/random.h"
#include "testing/op_test.h"

namespace axle {
namespace {

using Words = std::pair<uint32_t, uint32_t>;

// Known answers from the Random123 library.
TEST(Threefry, KnownAnswers) {
  EXPECT_EQ(threefry2x32(0, 0, 0, 0), Words(0x6b200159, 0x99ba4efe));
  EXPECT_EQ(threefry2x32(~0u, ~0u, ~0u, ~0u), Words(0x1cb996fc, 0xbb002be7));
  EXPECT_EQ(threefry2x32(0x13198a2e, 0x03707344, 0x243f6a88, 0x85a308d3),
            Words(0xc4923a9c, 0x483df7a0));
}

TEST(Threefry, TensorsAreHashedElementByElement) {
  const HostTensor scalar_key = HostTensor::scalar(uint32_t{7});
  const HostTensor keys({3}, {uint32_t{1}, uint32_t{2}, uint32_t{3}});
  const HostTensor x0({3}, {uint32_t{4}, uint32_t{5}, uint32_t{6}}), x1({3}, {~0u, 0u, 9u});
  const auto y = testing::run_all(
      [](const Values& v) {
        const auto [a, b] = threefry2x32(v[0], v[1], v[2], v[3]);
        return Values{a, b};
      },
      {scalar_key, keys, x0, x1});
  for (size_t i = 0; i < 3; ++i) {
    const Words expected = threefry2x32(7, keys.values<uint32_t>()[i], x0.values<uint32_t>()[i],
                                        x1.values<uint32_t>()[i]);
    EXPECT_EQ(Words(y[0].values<uint32_t>()[i], y[1].values<uint32_t>()[i]), expected);
  }
}

TEST(Threefry, WrongTypesAreErrors) {
  Region region;
  const TraceScope scope(region);
  const Tensor k = scalar(0, DType::kU32), x = zeros({2}, DType::kU32);
  EXPECT_THROW(threefry2x32(k, k, x, zeros({3}, DType::kU32)), ShapeError);
  EXPECT_THROW(threefry2x32(k, zeros({3}, DType::kU32), x, x), ShapeError);
  EXPECT_THROW(threefry2x32(k, k, zeros({2}, DType::kI32), x), ShapeError);
}

}  // namespace
}  // namespace axle
