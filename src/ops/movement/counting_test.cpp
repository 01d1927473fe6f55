#include "base/error.h"
#include "ops/create.h"
#include "ops/movement/movement.h"
#include "testing/op_test.h"

namespace axle {
namespace {

using testing::elements;
using ::testing::ElementsAre;
using ::testing::IsNan;
using testing::run;
using testing::run_all;

// jnp.bincount(x, weights, length=4)
TEST(Bincount, CountsAndSums) {
  const HostTensor x({7}, {0, 2, 2, -3, 7, 1, 2});
  EXPECT_EQ(run([](const Values& v) { return bincount(v[0], 4); }, {x}),
            HostTensor({4}, {2, 1, 3, 0}));
  EXPECT_EQ(run([](const Values& v) { return bincount(v[0], v[1], 4); },
                {x, HostTensor({7}, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f, 0.5f})}),
            HostTensor({4}, {5.f, 6.f, 5.5f, 0.f}));
}

TEST(Nonzero, HasAFixedSize) {
  const auto found = [](int64_t size, int64_t fill) {
    const auto y = run_all([=](const Values& v) { return nonzero(v[0], size, fill); },
                           {HostTensor({2, 3}, {0, 3, 0, 1, 0, 5})});
    std::vector<double> rows = elements(y[0]), columns = elements(y[1]);
    rows.insert(rows.end(), columns.begin(), columns.end());
    return rows;
  };
  EXPECT_THAT(found(5, 0), ElementsAre(0, 1, 1, 0, 0, 1, 0, 2, 0, 0));
  EXPECT_THAT(found(5, -1), ElementsAre(0, 1, 1, -1, -1, 1, 0, 2, -1, -1));
  EXPECT_THAT(found(2, 0), ElementsAre(0, 1, 1, 0));
}

std::vector<HostTensor> unique_of(int64_t size, std::optional<Scalar> fill = {}) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const HostTensor x({3, 3}, {2.f, nan, 1.f, 2.f, 1.f, nan, -1.f, 2.f, 0.f});
  return run_all(
      [=](const Values& v) {
        const Unique u = unique(v[0], size, fill);
        return Values{u.values, u.first_indices, u.inverse, u.counts};
      },
      {x});
}

// jnp.unique(x, return_index=True, return_inverse=True, return_counts=True, size, fill_value)
TEST(Unique, IsFilledOrCut) {
  const auto six = unique_of(6), three = unique_of(3);
  EXPECT_THAT(elements(six[0]), ElementsAre(-1, 0, 1, 2, IsNan(), -1));
  EXPECT_THAT(elements(six[1]), ElementsAre(6, 8, 2, 0, 1, 6));
  EXPECT_EQ(six[2], HostTensor({3, 3}, {3, 4, 2, 3, 2, 4, 0, 3, 1}));
  EXPECT_THAT(elements(six[3]), ElementsAre(1, 1, 2, 3, 2, 0));
  EXPECT_THAT(elements(three[0]), ElementsAre(-1, 0, 1));
  EXPECT_THAT(elements(three[1]), ElementsAre(6, 8, 2));
  EXPECT_EQ(three[2], six[2]);
  EXPECT_THAT(elements(three[3]), ElementsAre(1, 1, 2));
  EXPECT_THAT(elements(unique_of(6, 9)[0]), ElementsAre(-1, 0, 1, 2, IsNan(), 9));
}

TEST(Unique, ScalarHasOneValue) {
  const auto y = run_all(
      [](const Values& v) {
        const Unique u = unique(v[0], 2);
        return Values{u.values, u.counts};
      },
      {HostTensor::scalar(int32_t{7})});
  EXPECT_THAT(elements(y[0]), ElementsAre(7, 7));
  EXPECT_THAT(elements(y[1]), ElementsAre(1, 0));
}

TEST(Unique, BadOperandsAreErrors) {
  Region region;
  const TraceScope scope(region);
  EXPECT_THROW(unique(zeros({0}), 2), ShapeError);
  EXPECT_THROW(nonzero(zeros({}), 2), ShapeError);
  EXPECT_THROW(bincount(zeros({3}), 2), ShapeError);
  EXPECT_THROW(bincount(zeros({3}, DType::kI32), zeros({2}), 2), ShapeError);
}

}  // namespace
}  // namespace axle
