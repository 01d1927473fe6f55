// Ranges of results against the values themselves.
#include "transform/ranges.h"

#include <gmock/gmock.h>

#include <array>
#include <cmath>

#include "ir/eval.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "transform/trace.h"

namespace axle {
namespace {

using Function = std::function<Tensor(const Tensor& x, const Tensor& y)>;

std::shared_ptr<Region> traced(const Function& fn) {
  const Type scalar{DType::kI32, {}};
  return trace([&](const Values& v) { return Values{fn(v[0], v[1])}; }, {scalar, scalar});
}

// Expects, for all ranges of two numbers from -4 to 4, that each value is in the range of the
// result. `is_exact`: its bounds are values.
void expect_holds(const Function& fn, bool is_exact) {
  const auto region = traced(fn);
  const auto value = [&](int x, int y) {
    return evaluate(*region, {HostTensor::scalar(x), HostTensor::scalar(y)})[0].at(0);
  };
  std::array<std::array<double, 9>, 9> values{};
  for (int x = -4; x <= 4; ++x)
    for (int y = -4; y <= 4; ++y) values[x + 4][y + 4] = value(x, y);
  for (int x = -4; x <= 4; ++x) {
    for (int y = -4; y <= 4; ++y) {
      for (int x_end = x; x_end <= 4; ++x_end) {
        for (int y_end = y; y_end <= 4; ++y_end) {
          const ValueRange found = ranges_of_results(
              *region,
              std::array{ValueRange{static_cast<double>(x), static_cast<double>(x_end)},
                         ValueRange{static_cast<double>(y), static_cast<double>(y_end)}})[0];
          double low = INFINITY, high = -INFINITY;
          for (int i = x; i <= x_end; ++i) {
            for (int j = y; j <= y_end; ++j) {
              low = std::min(low, values[i + 4][j + 4]);
              high = std::max(high, values[i + 4][j + 4]);
            }
          }
          ASSERT_LE(found.low, low) << x << ".." << x_end << ", " << y << ".." << y_end;
          ASSERT_GE(found.high, high) << x << ".." << x_end << ", " << y << ".." << y_end;
          if (is_exact) {
            ASSERT_EQ(found, (ValueRange{low, high}))
                << x << ".." << x_end << ", " << y << ".." << y_end;
          }
        }
      }
    }
  }
}

TEST(Ranges, AreThoseOfTheValues) {
  expect_holds([](auto x, auto y) { return x + y; }, true);
  expect_holds([](auto x, auto y) { return x - y; }, true);
  expect_holds([](auto x, auto y) { return x * y; }, true);
  expect_holds([](auto x, auto) { return -x; }, true);
  expect_holds([](auto x, auto y) { return maximum(x, y); }, true);
  expect_holds([](auto x, auto y) { return minimum(x, y) * 3 + 1; }, true);
  expect_holds([](auto x, auto) { return abs(x); }, true);
  expect_holds([](auto x, auto) { return x / 3; }, true);
  expect_holds([](auto x, auto) { return x / -2; }, true);
  expect_holds([](auto x, auto y) { return x < y; }, true);
  expect_holds([](auto x, auto y) { return x <= y; }, true);
  expect_holds([](auto x, auto y) { return x > y; }, true);
  expect_holds([](auto x, auto y) { return x >= y; }, true);
  expect_holds([](auto x, auto y) { return equal(x, y); }, true);
  expect_holds([](auto x, auto y) { return not_equal(x, y); }, true);
  expect_holds([](auto x, auto y) { return (x > 1) | logical_not(y < 2); }, true);
  expect_holds([](auto x, auto y) { return select(x > 0, y, -9); }, true);
  expect_holds([](auto x, auto y) { return reshape(x - y, {1, 1}) >= 2; }, true);
}

TEST(Ranges, HoldTheValuesWhereTheyKnowLess) {
  expect_holds([](auto x, auto y) { return x / y; }, false);
  expect_holds([](auto x, auto) { return remainder(x, full_like(x, 3)); }, false);
  expect_holds([](auto x, auto y) { return remainder(x, y); }, false);
  expect_holds([](auto x, auto y) { return (x & y) + (x | y); }, false);
  expect_holds([](auto x, auto y) { return x * x - y * x; }, false);
  expect_holds([](auto x, auto y) { return (x > 0) ^ (y > 0); }, false);
  expect_holds([](auto x, auto y) { return exp(astype(x, DType::kF32)) < astype(y, DType::kF32); },
               false);
}

TEST(Ranges, ARemainderOfOneQuotientIsExact) {
  const auto region = traced([](auto x, auto) { return remainder(x, full_like(x, 10)); });
  const ValueRange any{};
  EXPECT_EQ(ranges_of_results(*region, std::array{ValueRange{12, 17}, any})[0], (ValueRange{2, 7}));
  EXPECT_EQ(ranges_of_results(*region, std::array{ValueRange{17, 21}, any})[0], (ValueRange{0, 9}));
  EXPECT_EQ(ranges_of_results(*region, std::array{ValueRange{-3, 4}, any})[0], (ValueRange{-9, 9}));
}

// i32 wraps around, so that a sum beyond it may be anything.
TEST(Ranges, ValuesThatMayNotFitHaveTheWholeRange) {
  const auto region = traced([](auto x, auto y) { return x + y; });
  const ValueRange large{0x1p30, 0x1p30 + 5};
  const ValueRange all{-0x1p31, 0x1p31 - 1};
  EXPECT_EQ(ranges_of_results(*region, std::array{large, large})[0], all);
  EXPECT_EQ(ranges_of_results(*region, std::array{all, all})[0], all);
}

TEST(Ranges, ConstantsHaveTheRangeOfTheirElements) {
  const auto region = trace(
      [](const Values&) {
        return Values{constant(HostTensor({3}, {4, -7, 2})), iota({5}, 0) * 2};
      },
      {});
  EXPECT_EQ(ranges_of_results(*region, {}), (std::vector<ValueRange>{{-7, 4}, {0, 8}}));
}

}  // namespace
}  // namespace axle
