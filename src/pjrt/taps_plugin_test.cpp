// Taps, the search for the first non-finite number and the comparison of programs, on a plugin.
#include <gmock/gmock.h>

#include "ops/ops.h"
#include "testing/plugin_fixture.h"
#include "transform/control_flow/control_flow.h"
#include "transform/taps/taps.h"

namespace axle {
namespace {

using ::testing::ElementsAre;

class TapsOnPlugin : public PluginTest {
 protected:
  // Runs programs on the plugin.
  RunRegion on_plugin(std::vector<HostTensor> inputs) {
    return [this, inputs = std::move(inputs)](const std::shared_ptr<const Region>& region) {
      return run([&](const Values& x) { return inline_region(*region, x); }, inputs);
    };
  }
};

// A loop with a branch and an inner while loop. An exponential overflows in one iteration.
TensorFunction looping(double scale) {
  return [=](const Values& x) {
    const auto body = [=](const Values& carry, const Values& xs) {
      const NameScope scope("layer");
      const auto taken = [](const Values& v) { return Values{tap("taken", v[0] * 2.0)}; };
      const auto other = [](const Values& v) { return v; };
      const Tensor y = cond(xs[0] > 1.5, taken, other, {xs[0]})[0];
      const Tensor z =
          while_loop([](const Values& c) { return c[0] < 3.0; },
                     [](const Values& c) { return Values{tap("c", c[0]) + 1.0}; }, {y})[0];
      return ScanResult{{carry[0] + exp(z * full({}, scale))}, {}};
    };
    return scan(body, {scalar(0)}, {x[0]}, 3).carry;
  };
}

const HostTensor kX({3}, {1.0f, 2.0f, 30.0f});

TEST_F(TapsOnPlugin, DeliversTheSameAsTheInterpreter) {
  const auto collected = [](const Values& x) {
    const auto region = collect_taps(*trace(looping(1), types_of(x))).region;
    return inline_region(*region, x);
  };
  expect_same(collected, {kX}, 1e-6);
}

TEST_F(TapsOnPlugin, TheFirstInfinityIsFound) {
  const auto loss = [](const Values& v) { return Values{sum(looping(2)(v)[0])}; };
  const auto region = trace(loss, {kX.type()});
  for (const RunRegion& run : {on_plugin({kX}), interpreted({kX})}) {
    const auto origin = find_non_finite(*region, run);
    ASSERT_TRUE(origin);
    EXPECT_EQ(origin->op, "exp");
    EXPECT_EQ(origin->scope, "layer");
    EXPECT_THAT(origin->iterations, ElementsAre(2));
    EXPECT_EQ(origin->operands[0].statistics.max, 120);
  }
}

TEST_F(TapsOnPlugin, AgreesWithTheInterpreterUntilTheProgramsDiffer) {
  const auto a = trace(looping(1), {kX.type()}), b = trace(looping(1.5), {kX.type()});
  EXPECT_FALSE(compare({*a, interpreted({kX})}, {*a, on_plugin({kX})}).first);
  const Comparison c = compare({*a, interpreted({kX})}, {*b, on_plugin({kX})});
  ASSERT_TRUE(c.first);
  EXPECT_EQ(c.first->op, "full");
  EXPECT_EQ(c.first->scope, "layer");
  EXPECT_THAT(c.first->iterations, ElementsAre(0));
}

}  // namespace
}  // namespace axle
