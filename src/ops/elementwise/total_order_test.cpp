#include "base/error.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "testing/op_test.h"

namespace axle {
namespace {

using testing::elements;
using ::testing::ElementsAre;
using testing::run;

constexpr float kTotalOrderInf = std::numeric_limits<float>::infinity();
constexpr float kTotalOrderNan = std::numeric_limits<float>::quiet_NaN();

// Every float of the list is less than all that follow.
TEST(TotalOrder, OrdersEveryFloat) {
  const HostTensor x({8}, {-kTotalOrderNan, -kTotalOrderInf, -1.f, -0.f, 0.f, 1.f, kTotalOrderInf,
                           kTotalOrderNan});
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kF16}) {
    SCOPED_TRACE(std::string(name_of(dtype)));
    const auto y = testing::run_all(
        [](const Values& v) {
          return Values{total_less(v[0], v[1]), total_less_equal(v[0], v[1]),
                        total_equal(v[0], v[1])};
        },
        {x.reshaped({8, 1}).astype(dtype), x.astype(dtype)});
    for (int64_t i = 0; i < 8; ++i) {
      for (int64_t k = 0; k < 8; ++k) {
        EXPECT_EQ(y[0].at(8 * i + k), i < k) << i << " and " << k;
        EXPECT_EQ(y[1].at(8 * i + k), i <= k) << i << " and " << k;
        EXPECT_EQ(y[2].at(8 * i + k), i == k) << i << " and " << k;
      }
    }
  }
}

TEST(TotalOrder, ComparesOtherDtypesAsUsual) {
  const HostTensor a({3}, {-1, 2, 3}), b({3}, {1, 2, -3});
  EXPECT_THAT(elements(run([](const Values& v) { return total_less(v[0], v[1]); }, {a, b})),
              ElementsAre(1, 0, 0));
  Region region;
  const TraceScope scope(region);
  const Tensor complex = zeros({2}, DType::kC64);
  EXPECT_THROW(total_less(complex, complex), ShapeError);
}

TEST(Nextafter, IsTheNeighbour) {
  const HostTensor from({6}, {1.f, 1.f, 0.f, -0.f, kTotalOrderInf, 2.f}),
      to({6}, {2.f, 0.f, -1.f, 1.f, 0.f, 2.f});
  EXPECT_EQ(run([](const Values& v) { return nextafter(v[0], v[1]); }, {from, to}),
            HostTensor({6}, {1.f + 0x1p-23f, 1.f - 0x1p-24f, -0x1p-149f, 0x1p-149f,
                             std::numeric_limits<float>::max(), 2.f}));
  EXPECT_THAT(elements(run([](const Values& v) { return nextafter(v[0], v[1]); },
                           {from.astype(DType::kBF16), to.astype(DType::kBF16)})),
              ElementsAre(1 + 0x1p-7, 1 - 0x1p-8, -0x1p-133, 0x1p-133, 0x1.fep127, 2));
  Region region;
  const TraceScope scope(region);
  EXPECT_THROW(nextafter(zeros({2}, DType::kI32), zeros({2}, DType::kI32)), ShapeError);
  EXPECT_THROW(nextafter(zeros({2}, DType::kF8E5M2), zeros({2}, DType::kF8E5M2)), ShapeError);
}

}  // namespace
}  // namespace axle
