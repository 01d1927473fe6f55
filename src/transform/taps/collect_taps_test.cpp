#include <gmock/gmock.h>

#include "base/error.h"
#include "ir/eval.h"
#include "ops/ops.h"
#include "transform/call.h"
#include "transform/control_flow/control_flow.h"
#include "transform/grad.h"
#include "transform/remat/remat.h"
#include "transform/shard_map/shard_map.h"
#include "transform/simplify.h"
#include "transform/taps/taps.h"
#include "transform/vmap.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<double> numbers(const HostTensor& t) {
  std::vector<double> out;
  for (int64_t i = 0; i < t.size(); ++i) out.push_back(t.at(i));
  return out;
}

// A program with taps that ran.
struct Ran {
  std::vector<CollectedTap> taps;
  std::vector<HostTensor> results;

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const CollectedTap& tap : taps) out.push_back(tap.name);
    return out;
  }
  std::vector<double> values(size_t tap) const {
    return numbers(results.at(taps.at(tap).results.at(0)));
  }
  std::vector<double> ran(size_t tap) const { return numbers(results.at(*taps.at(tap).ran)); }
};

Ran run(const TensorFunction& fn, const std::vector<HostTensor>& inputs) {
  std::vector<Type> types;
  for (const HostTensor& x : inputs) types.push_back(x.type());
  const auto region = trace(fn, types);
  const Tapped tapped = collect_taps(*region);
  Ran out{.taps = tapped.taps, .results = evaluate(*simplify(*tapped.region), inputs)};
  const auto plain = evaluate(*region, inputs);
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_EQ(out.results[i], plain[i]) << i;
  return out;
}

const HostTensor kX({3}, {1.0f, 2.0f, 4.0f});

TEST(Taps, AValueIsDeliveredUnderItsLayerPathEvenIfNobodyUsesIt) {
  const Ran r = run(
      [](const Values& x) {
        const NameScope scope("decoder/norm");
        tap("twice", x[0] * 2.0);
        tap("twice", x[0] * 3.0);
        return Values{x[0] + 1.0};
      },
      {kX});
  EXPECT_THAT(r.names(), ElementsAre("decoder/norm/twice", "decoder/norm/twice#2"));
  EXPECT_THAT(r.values(0), ElementsAre(2, 4, 8));
  EXPECT_THAT(r.values(1), ElementsAre(3, 6, 12));
  EXPECT_FALSE(r.taps[0].ran);
}

TEST(Taps, AScanStacksThem) {
  const Ran r = run(
      [](const Values& x) {
        const auto body = [](const Values& carry, const Values& xs) {
          tap("product", carry[0] * xs[0]);
          return ScanResult{{carry[0] + xs[0]}, {}};
        };
        return scan(body, {scalar(1)}, {x[0]}, 3).carry;
      },
      {kX});
  EXPECT_THAT(r.values(0), ElementsAre(1, 4, 16));
  EXPECT_EQ(r.taps[0].num_leading_dims, 1u);
}

TEST(Taps, OnlyTheBranchThatIsTakenIsReported) {
  const auto branch = [](double by, bool taps) {
    return [=](const Values& v) {
      const Tensor y = v[0] * by;
      if (taps) tap("y", y);
      return Values{y};
    };
  };
  for (const int32_t index : {0, 1, 2}) {
    const Ran r = run(
        [&](const Values& x) {
          return switch_case(x[1], {branch(2, true), branch(3, false), branch(5, true)}, {x[0]});
        },
        {kX, HostTensor::scalar(index)});
    ASSERT_EQ(r.taps.size(), 2u);
    EXPECT_EQ(r.ran(0), std::vector<double>{index == 0 ? 1.0 : 0.0});
    EXPECT_EQ(r.ran(1), std::vector<double>{index == 2 ? 1.0 : 0.0});
    EXPECT_EQ(r.values(0)[2], index == 0 ? 8 : 0);
    EXPECT_EQ(r.values(1)[2], index == 2 ? 20 : 0);
  }
}

TEST(Taps, ABranchInsideAScanSaysWhichIterationsRan) {
  const Ran r = run(
      [](const Values& x) {
        const auto body = [](const Values& carry, const Values& xs) {
          const auto taken = [](const Values& v) { return Values{tap("y", v[0] * 10.0)}; };
          const auto other = [](const Values& v) { return v; };
          return ScanResult{carry, cond(xs[0] > 1.5, taken, other, {xs[0]})};
        };
        return scan(body, {scalar(1)}, {x[0]}, 3).ys;
      },
      {kX});
  EXPECT_THAT(r.ran(0), ElementsAre(0, 1, 1));
  EXPECT_THAT(r.values(0), ElementsAre(0, 20, 40));
}

TEST(Taps, AWhileLoopDeliversItsFirstIterations) {
  const Ran r = run(
      [](const Values& x) {
        return while_loop([&](const Values& c) { return c[0] < x[0]; },
                          [](const Values& c) {
                            tap("c", c[0]);
                            return Values{c[0] * 2.0};
                          },
                          {scalar(1)});
      },
      {HostTensor::scalar(7.0f)});
  ASSERT_EQ(r.values(0).size(), 16u);
  std::vector<double> first = r.values(0);
  first.resize(4);
  EXPECT_THAT(first, ElementsAre(1, 2, 4, 0));
  EXPECT_EQ(r.ran(0)[2], 1);
  EXPECT_EQ(r.ran(0)[3], 0);
  const Ran longer = run(
      [](const Values& x) {
        return while_loop([&](const Values& c) { return c[0] < x[0]; },
                          [](const Values& c) { return Values{tap("c", c[0]) + 1.0}; },
                          {scalar(0)});
      },
      {HostTensor::scalar(40.0f)});
  EXPECT_EQ(longer.values(0).back(), 15);
}

TEST(Taps, BodiesThatRunOnceDeliverThemUnderAnyNesting) {
  const Ran r = run(
      [](const Values& x) {
        return call("outer",
                    [](const Values& v) {
                      const auto body = [](const Values& carry, const Values& xs) {
                        const Values y =
                            remat([](const Values& u) { return Values{tap("in", u[0] + 1.0)}; },
                                  {xs[0]}, save_nothing());
                        return ScanResult{carry, y};
                      };
                      return scan(body, {scalar(0)}, {v[0]}, 3).ys;
                    },
                    {x[0]});
      },
      {kX});
  EXPECT_THAT(r.values(0), ElementsAre(2, 3, 5));
}

// Taps of the forward pass come once, whatever the backward pass recomputes.
TEST(Taps, GradientsThroughRematAndScanDeliverEachTapOnce) {
  const auto loss = [](const Values& x) {
    const auto body = [](const Values& carry, const Values& xs) {
      const Values y = remat(
          [](const Values& u) {
            const auto inner = [](const Values& c, const Values&) {
              return ScanResult{{sin(tap("deep", c[0]))}, {}};
            };
            const Tensor h = exp(tap("in", u[0] * u[1]));
            return scan(inner, {tap_gradient("g", h)}, {}, 2).carry;
          },
          {carry[0], xs[0]}, save_nothing());
      return ScanResult{y, {}};
    };
    return Values{scan(body, {scalar(0.5)}, {x[0]}, 3).carry[0]};
  };
  const Ran r = run(
      [&](const Values& x) {
        const auto [values, gradients] = value_and_grad(loss, {x[0]});
        return Values{values[0], gradients[0]};
      },
      {kX});
  EXPECT_THAT(r.names(), ElementsAre("deep", "in", "g"));
  EXPECT_EQ(r.results[r.taps[0].results[0]].shape(), (Shape{3, 2}));
  EXPECT_EQ(r.values(1)[0], 0.5);
  EXPECT_EQ(r.values(2).size(), 3u);
}

TEST(Taps, TheCotangentOfATensorIsDelivered) {
  const Ran r = run(
      [](const Values& x) {
        const auto loss = [](const Values& v) {
          return Values{sum(square(tap_gradient("gradient", v[0] * 3.0)))};
        };
        return value_and_grad(loss, {x[0]}).second;
      },
      {kX});
  EXPECT_THAT(r.values(0), ElementsAre(6, 12, 24));
}

TEST(Taps, VmapDeliversTheWholeBatch) {
  const Ran r = run(
      [](const Values& x) {
        return vmap([](const Values& v) { return Values{tap("row", v[0] * 2.0)}; }, {x[0]});
      },
      {kX});
  EXPECT_THAT(r.values(0), ElementsAre(2, 4, 8));
}

TEST(Taps, DevicesDeliverTheirParts) {
  const Mesh mesh = {{{"data", 3}}};
  const Ran r = run(
      [&](const Values& x) {
        return shard_map([](const Values& v) { return Values{tap("part", v[0] + 1.0)}; }, {x[0]},
                         {.mesh = mesh, .in_specs = {{{"data"}}}, .out_specs = {{{"data"}}}});
      },
      {kX});
  EXPECT_EQ(r.results[r.taps[0].results[0]].shape(), (Shape{3, 1}));
  EXPECT_THAT(r.values(0), ElementsAre(2, 3, 5));
}

TEST(Taps, ADifferentiatedCustomRuleDeliversThoseOfItsForwardFunction) {
  const CustomVjp rule{
      .name = "double",
      .forward =
          [](const Values& x) {
            return WithResiduals{{tap("y", x[0] * 2.0)}, {}};
          },
      .backward = [](const Values&,
                     const Values& g) { return Values{tap("backward", g[0] * 2.0)}; }};
  const auto loss = [&](const Values& v) { return Values{sum(custom_vjp(rule, {v[0]})[0])}; };
  EXPECT_THAT(run([&](const Values& x) { return loss(x); }, {kX}).names(), ElementsAre("y"));
  EXPECT_THAT(
      run([&](const Values& x) { return value_and_grad(loss, {x[0]}).second; }, {kX}).names(),
      ElementsAre("y", "backward"));
}

TEST(Taps, PrintsAreLinesWithTheirIteration) {
  const auto fn = [](const Values& x) {
    const auto body = [](const Values& carry, const Values& xs) {
      const NameScope scope("layers/layer");
      tap("unprinted", xs[0]);
      debug_print("x = {}, and x * {{1, 2}} = {}", xs[0],
                  xs[0] * constant(HostTensor({2}, {1.0f, 2.0f})));
      return ScanResult{carry, {}};
    };
    scan(body, {scalar(1)}, {x[0]}, 3);
    return Values{x[0]};
  };
  const Tapped tapped = collect_taps(*trace(fn, {kX.type()}), Collect::kPrints);
  ASSERT_EQ(tapped.taps.size(), 1u);
  EXPECT_THAT(printed_lines(tapped.taps[0], evaluate(*tapped.region, {kX})),
              ElementsAre("layers/layer[0]: x = 1, and x * {{1, 2}} = f32[2] {1, 2}",
                          "layers/layer[1]: x = 2, and x * {{1, 2}} = f32[2] {2, 4}",
                          "layers/layer[2]: x = 4, and x * {{1, 2}} = f32[2] {4, 8}"));
}

TEST(Taps, APrintNeedsOneBracePairForEachValue) {
  try {
    trace(
        [](const Values& x) {
          debug_print("x", x[0]);
          return x;
        },
        {kX.type()});
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("expected a {} in the format for each of 1 values, got \"x\""));
  }
}

TEST(Taps, AProgramWithoutTapsStaysAsItIs) {
  const auto fn = [](const Values& x) { return Values{x[0] * 2.0}; };
  EXPECT_THAT(collect_taps(*trace(fn, {kX.type()})).taps, IsEmpty());
}

}  // namespace
}  // namespace axle
