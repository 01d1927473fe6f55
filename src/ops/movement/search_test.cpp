#include "base/error.h"
#include "ops/create.h"
#include "ops/movement/movement.h"
#include "testing/op_test.h"

namespace axle {
namespace {

using testing::elements;
using ::testing::ElementsAre;
using testing::run;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// jnp.searchsorted(sorted, values, side)
TEST(Search, FindsPositionsBeforeAndAfterEqualElements) {
  const HostTensor sorted({8}, {-kInf, -1.f, 0.f, 0.f, 2.f, 2.f, 2.f, kNan});
  const HostTensor values({7}, {-kInf, -3.f, -0.f, 1.f, 2.f, kInf, kNan});
  const auto found = [&](SearchSide side) {
    return elements(
        run([side](const Values& v) { return searchsorted(v[0], v[1], side); }, {sorted, values}));
  };
  EXPECT_THAT(found(SearchSide::kLeft), ElementsAre(0, 1, 2, 4, 4, 7, 7));
  EXPECT_THAT(found(SearchSide::kRight), ElementsAre(1, 1, 4, 4, 7, 7, 8));
}

TEST(Search, AgreesWithCountingAtEverySize) {
  for (int32_t n = 0; n < 10; ++n) {
    HostTensor sorted = HostTensor::zeros({n}, DType::kI32);
    for (int32_t i = 0; i < n; ++i) sorted.values<int32_t>()[i] = 2 * i;
    HostTensor values = HostTensor::zeros({2 * n + 3}, DType::kI32);
    for (int32_t i = 0; i < values.size(); ++i) values.values<int32_t>()[i] = i - 2;
    const auto found = testing::run_all(
        [](const Values& v) {
          return Values{searchsorted(v[0], v[1]), searchsorted(v[0], v[1], SearchSide::kRight)};
        },
        {sorted, values});
    for (int32_t i = 0; i < values.size(); ++i) {
      const int32_t v = i - 2;
      int32_t less = 0, not_greater = 0;
      for (int32_t k = 0; k < n; ++k) {
        less += 2 * k < v;
        not_greater += 2 * k <= v;
      }
      EXPECT_EQ(found[0].at(i), less) << v << " among " << n;
      EXPECT_EQ(found[1].at(i), not_greater) << v << " among " << n;
    }
  }
}

// jnp.digitize(x, edges, right)
TEST(Search, Digitizes) {
  const auto bins = [](const HostTensor& edges, SearchSide closed) {
    return elements(run([closed](const Values& v) { return digitize(v[0], v[1], closed); },
                        {HostTensor({5}, {-1.f, 0.f, 0.5f, 1.f, 3.f}), edges}));
  };
  const HostTensor up({3}, {0.f, 1.f, 2.f}), down({3}, {2.f, 1.f, 0.f});
  EXPECT_THAT(bins(up, SearchSide::kLeft), ElementsAre(0, 1, 1, 2, 3));
  EXPECT_THAT(bins(up, SearchSide::kRight), ElementsAre(0, 0, 1, 1, 3));
  EXPECT_THAT(bins(down, SearchSide::kLeft), ElementsAre(3, 2, 2, 1, 0));
  EXPECT_THAT(bins(down, SearchSide::kRight), ElementsAre(3, 3, 2, 2, 0));
  EXPECT_THAT(bins(HostTensor::zeros({0}), SearchSide::kLeft), ElementsAre(0, 0, 0, 0, 0));
}

TEST(Search, IsIn) {
  const HostTensor y = run([](const Values& v) { return isin(v[0], v[1]); },
                           {HostTensor({2, 2}, {1, 7, 3, 1}), HostTensor({1, 2}, {3, 1})});
  EXPECT_EQ(y, HostTensor({2, 2}, {true, false, true, true}));
}

TEST(Search, BadOperandsAreErrors) {
  Region region;
  const TraceScope scope(region);
  EXPECT_THROW(searchsorted(zeros({2, 2}), zeros({3})), ShapeError);
  EXPECT_THROW(searchsorted(zeros({2}), zeros({3}, DType::kI32)), ShapeError);
  EXPECT_THROW(digitize(zeros({2}), zeros({2, 2})), ShapeError);
}

}  // namespace
}  // namespace axle
