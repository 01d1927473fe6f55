#include "nn/functional.h"

#include <gtest/gtest.h>

#include "nn/toy_layers_test.h"

namespace axle {
namespace {

// The result depends only on the arguments: another call with other parameters, inside the first or
// after it, uses its own.
TEST(Functional, CallsDoNotSeeEachOther) {
  testing::TestLayer<Scaling> layer({}, {.dim = 1});
  Scaling& scaling = static_cast<Scaling&>(layer.layer());
  const auto with = [&](const Tensor& w, const Tensor& x) {
    return functional(scaling, {{"scaling/w", w}}, {}, [&] { return scaling(x); });
  };
  const auto y = eval(
      [&](const Values& x) {
        const auto [outer, collected] = functional(scaling, {{"scaling/w", x[0]}}, {}, [&] {
          const auto [inner, inner_collected] = with(x[1], x[2]);
          EXPECT_EQ(inner_collected.summaries.size(), 1u);
          return scaling(inner);
        });
        EXPECT_EQ(collected.summaries.size(), 1u);
        EXPECT_TRUE(collected.summaries.contains("scaling/sum"));
        return Values{outer, with(x[2], x[2]).first};
      },
      {HostTensor({1}, {2.0f}), HostTensor({1}, {3.0f}), HostTensor({1}, {5.0f})});
  EXPECT_EQ(y[0].at(0), 30);
  EXPECT_EQ(y[1].at(0), 25);
}

}  // namespace
}  // namespace axle
