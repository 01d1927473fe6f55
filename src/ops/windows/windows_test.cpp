// Tests of windows.h. Numbers are from JAX 0.10.2.
#include <gmock/gmock.h>

#include "base/error.h"
#include "ir/text/text_form.h"
#include "ops/ops.h"
#include "testing/error_without_lines.h"
#include "testing/op_test.h"

namespace axle {
namespace {

using testing::counting;
using testing::elements;
using ::testing::ElementsAre;
using testing::run;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

using WindowFunction = Tensor (*)(const Tensor&, const Window&);
HostTensor windows(WindowFunction fn, const HostTensor& x, const Window& window) {
  return run([&](const Values& v) { return fn(v[0], window); }, {x});
}

TEST(ReduceWindow, PaddingStridesAndDilations) {
  const HostTensor x = counting({3, 4});
  // lax.reduce_window(x, 0., lax.add, (2, 2), (2, 1), [(1, 0), (0, 1)])
  EXPECT_EQ(windows(reduce_window_sum, x,
                    {.sizes = {2, 2}, .strides = {2, 1}, .padding = {{1, 0}, {0, 1}}}),
            HostTensor({2, 4}, {1.f, 3.f, 5.f, 3.f, 26.f, 30.f, 34.f, 18.f}));
  // lax.reduce_window(x, -inf, lax.max, (2, 2), (1, 2), [(0, 0), (1, -1)], (1, 2), (2, 1))
  EXPECT_EQ(windows(reduce_window_max, x,
                    {.sizes = {2, 2},
                     .strides = {1, 2},
                     .padding = {{0, 0}, {1, -1}},
                     .base_dilations = {1, 2},
                     .window_dilations = {2, 1}}),
            HostTensor({1, 3}, {8.f, 9.f, 10.f}));
}

TEST(ReduceWindow, SamePaddingPutsTheOddElementOnTheHighSide) {
  const HostTensor x({5}, {1.f, 2.f, 4.f, 8.f, 16.f});
  const auto same = [&](int64_t size, int64_t stride) {
    return elements(windows(reduce_window_sum, x,
                            {.sizes = {size}, .strides = {stride}, .padding = PaddingRule::kSame}));
  };
  EXPECT_THAT(same(2, 1), ElementsAre(3, 6, 12, 24, 16));
  EXPECT_THAT(same(3, 2), ElementsAre(3, 14, 24));
  EXPECT_THAT(same(1, 3), ElementsAre(1, 8));
}

TEST(ReduceWindow, WindowInThePaddingHasTheIdentity) {
  const Window far{.sizes = {2}, .strides = {2}, .padding = {{2, 0}}};
  const HostTensor x({2}, {-3.f, 5.f});
  EXPECT_THAT(elements(windows(reduce_window_sum, x, far)), ElementsAre(0, 2));
  EXPECT_THAT(elements(windows(reduce_window_max, x, far)), ElementsAre(-kInf, 5));
  EXPECT_THAT(elements(windows(reduce_window_min, x, far)), ElementsAre(kInf, -3));
  EXPECT_THAT(elements(windows(reduce_window_max, x.astype(DType::kI8), far)),
              ElementsAre(-128, 5));
  EXPECT_THAT(elements(windows(reduce_window_min, x.astype(DType::kI8), far)),
              ElementsAre(127, -3));
}

TEST(ReduceWindow, WindowLargerThanTheTensorHasNoResults) {
  EXPECT_EQ(windows(reduce_window_max, counting({2, 3}), {.sizes = {1, 4}}).shape(), Shape({2, 0}));
}

TEST(ReduceWindow, NanIsTheMaximumAndTheMinimum) {
  const HostTensor x({4}, {1.f, kNan, 2.f, 3.f});
  for (const WindowFunction fn : {reduce_window_max, reduce_window_min})
    EXPECT_TRUE(std::isnan(windows(fn, x, {.sizes = {3}}).at(0)));
}

TEST(ReduceWindow, Bf16SumsAreRoundedOnce) {
  const HostTensor ones = HostTensor::ones({1000}, DType::kBF16);
  const HostTensor y = windows(reduce_window_sum, ones, {.sizes = {1000}});
  EXPECT_EQ(y.dtype(), DType::kBF16);
  EXPECT_EQ(y.at(0), 1000);
}

TEST(ReduceWindow, SaysWhatDoesNotFit) {
  const auto error = [](const Window& window) {
    return error_without_lines<ShapeError>([&] {
      windows(reduce_window_sum, counting({3, 4}), window);
    });
  };
  const std::string operands = "; operands: f32[3, 4] of the top level (parameter)";
  const std::string where = "the top level: reduce_window_sum: ";
  EXPECT_EQ(error({.sizes = {2}}), where + "expected window sizes for 2 dims, got 1" + operands);
  EXPECT_EQ(error({.sizes = {2, 0}}),
            where + "expected window sizes of at least 1, got [2, 0]" + operands);
  EXPECT_EQ(error({.sizes = {2, 2}, .padding = {{1, 1}}}),
            where + "expected padding for 2 dims, got 1" + operands);
  EXPECT_EQ(error({.sizes = {2, 2}, .padding = {{0, 0}, {-3, -2}}}),
            where + "expected padding that leaves elements of a dim of 4, got (-3, -2)" + operands);
}

TEST(ReduceWindow, PrintsWhatIsNotTrivial) {
  const auto text = [](const Window& window) {
    Region region;
    const TraceScope trace(region);
    region.set_results({reduce_window_sum(region.add_parameter({DType::kF32, {3, 4}}), window)});
    return print(region);
  };
  EXPECT_THAT(
      text({.sizes = {2, 2}, .strides = {1, 2}, .padding = {{1, 0}, {0, 1}}}),
      ::testing::HasSubstr("window = [2, 2], strides = [1, 2], padding = [(1, 0), (0, 1)]"));
  EXPECT_THAT(text({.sizes = {2, 2}, .window_dilations = {1, 2}}),
              ::testing::HasSubstr("window = [2, 2], window_dilations = [1, 2]"));
}

const HostTensor kTies({2, 6}, {5.f, 5.f, 1.f, 5.f, 2.f, 2.f, 0.f, -1.f, -1.f, 7.f, 3.f, 3.f});

TEST(SelectAndScatter, FirstOfEqualElementsIsSelected) {
  const Window pairs{.sizes = {1, 2}, .strides = {1, 2}};
  const auto selected = [&](WindowSelect select, const Window& window) {
    return elements(
        run([&](const Values& v) { return selected_positions(v[0], window, select); }, {kTies}));
  };
  EXPECT_THAT(selected(WindowSelect::kLargest, pairs), ElementsAre(0, 3, 4, 6, 9, 10));
  EXPECT_THAT(selected(WindowSelect::kLeast, pairs), ElementsAre(0, 2, 4, 7, 8, 10));
  const Window far{.sizes = {1, 2}, .strides = {1, 4}, .padding = {{0, 0}, {2, 0}}};
  EXPECT_THAT(selected(WindowSelect::kLargest, far), ElementsAre(-1, 3, -1, 9));
}

TEST(SelectAndScatter, NanIsSelectedFirst) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const HostTensor x({6}, {1.f, nan, 2.f, 3.f, nan, nan});
  for (const WindowSelect select : {WindowSelect::kLargest, WindowSelect::kLeast}) {
    EXPECT_THAT(elements(run(
                    [&](const Values& v) {
                      return selected_positions(v[0], {.sizes = {3}, .strides = {3}}, select);
                    },
                    {x})),
                ElementsAre(1, 4));
  }
}

TEST(SelectAndScatter, SumsWhereWindowsOverlap) {
  const HostTensor source({2, 5}, {1.f, 2.f, 4.f, 8.f, 16.f, 1.f, 2.f, 4.f, 8.f, 16.f});
  const HostTensor y = run(
      [](const Values& v) {
        return select_and_scatter_add(v[0], v[1], {.sizes = {1, 2}}, WindowSelect::kLargest);
      },
      {kTies, source});
  EXPECT_EQ(y,
            HostTensor({2, 6}, {1.f, 2.f, 0.f, 12.f, 16.f, 0.f, 1.f, 2.f, 0.f, 12.f, 16.f, 0.f}));
}

TEST(SelectAndScatter, SaysWhatDoesNotFit) {
  const auto error = [](const Shape& source, const Window& window) {
    return error_without_lines<ShapeError>([&] {
      run(
          [&](const Values& v) {
            return select_and_scatter_add(v[0], v[1], window, WindowSelect::kLargest);
          },
          {kTies, HostTensor::zeros(source)});
    });
  };
  EXPECT_THAT(error({2, 4}, {.sizes = {1, 2}}),
              ::testing::HasSubstr("expected a source of f32[2, 5], got f32[2, 4]"));
  EXPECT_THAT(error({2, 4}, {.sizes = {1, 2}, .window_dilations = {1, 2}}),
              ::testing::HasSubstr("expected a window without dilation"));
}

TEST(Pool, WindowsOfTheSpatialDims) {
  const HostTensor x = counting({2, 4, 4, 1});
  const PoolOptions options{.window = {2, 2}, .strides = {2, 2}};
  EXPECT_THAT(elements(run([&](const Values& v) { return max_pool(v[0], options); }, {x})),
              ElementsAre(5, 7, 13, 15, 21, 23, 29, 31));
  EXPECT_THAT(elements(run([&](const Values& v) { return min_pool(v[0], options); }, {x})),
              ElementsAre(0, 2, 8, 10, 16, 18, 24, 26));
  EXPECT_THAT(elements(run([&](const Values& v) { return avg_pool(v[0], options); }, {x})),
              ElementsAre(2.5, 4.5, 10.5, 12.5, 18.5, 20.5, 26.5, 28.5));
}

TEST(Pool, AveragesWithAndWithoutPadding) {
  const HostTensor x({1, 4, 1}, {2.f, 4.f, 6.f, 8.f});
  const auto pooled = [&](PoolCount count, DType dtype) {
    const HostTensor y = run(
        [&](const Values& v) {
          return avg_pool(v[0], {.window = {2}, .strides = {2}, .padding = {{1, 1}}}, count);
        },
        {x.astype(dtype)});
    EXPECT_EQ(y.dtype(), dtype);
    return elements(y);
  };
  EXPECT_THAT(pooled(PoolCount::kWindow, DType::kF32), ElementsAre(1, 5, 4));
  EXPECT_THAT(pooled(PoolCount::kWithoutPadding, DType::kF32), ElementsAre(2, 5, 8));
  EXPECT_THAT(pooled(PoolCount::kWithoutPadding, DType::kBF16), ElementsAre(2, 5, 8));
}

TEST(Pool, SaysWhatDoesNotFit) {
  EXPECT_EQ(error_without_lines<ShapeError>([] {
              run(
                  [](const Values& v) {
                    return max_pool(v[0], {.window = {2, 2}});
                  },
                  {counting({2, 4, 1})});
            }),
            "the top level: max_pool: expected an operand of 4 dims for a window of [2, 2], got 3; "
            "operands: f32[2, 4, 1] of the top level (parameter)");
  EXPECT_THAT(error_without_lines<ShapeError>([] {
                run([](const Values& v) { return avg_pool(v[0], {.window = {2}}); },
                    {counting({2, 4, 1}).astype(DType::kI32)});
              }),
              ::testing::HasSubstr("avg_pool: expected floats, got i32"));
}

}  // namespace
}  // namespace axle
