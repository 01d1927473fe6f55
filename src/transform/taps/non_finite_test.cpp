#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "ops/ops.h"
#include "transform/control_flow/control_flow.h"
#include "transform/grad.h"
#include "transform/remat/remat.h"
#include "transform/shard_map/shard_map.h"
#include "transform/taps/taps.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::optional<NonFiniteOrigin> find(const TensorFunction& fn,
                                    const std::vector<HostTensor>& inputs) {
  std::vector<Type> types;
  for (const HostTensor& x : inputs) types.push_back(x.type());
  const auto region = trace(fn, types, {"model/x", "model/y"});
  return find_non_finite(*region, interpreted(inputs));
}

const HostTensor kNonFiniteX({3}, {1.0f, 50.0f, 100.0f});

TEST(NonFinite, StatisticsSayWhereNoElementIsFinite) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(to_text(statistics_of(HostTensor({3}, {inf, -inf, std::nanf("")}))),
            "no finite element, 1 NaN, 2 Inf");
  EXPECT_EQ(to_text(statistics_of(HostTensor({2}, {inf, 0.0f}))),
            "min 0, max 0, mean 0, mean magnitude 0, 0 NaN, 1 Inf");
}

TEST(NonFinite, TheOpAndItsOperandsAreNamed) {
  const auto origin = find(
      [](const Values& x) {
        const NameScope scope("decoder/layer");
        const Tensor y = exp(x[0]);  // exp(100) overflows
        return Values{sum(y - y)};
      },
      {kNonFiniteX});
  ASSERT_TRUE(origin);
  EXPECT_EQ(origin->op, "exp");
  EXPECT_EQ(origin->scope, "decoder/layer");
  EXPECT_FALSE(origin->is_nan);
  EXPECT_FALSE(origin->backward);
  ASSERT_EQ(origin->operands.size(), 1u);
  EXPECT_EQ(origin->operands[0].statistics.max, 100);
  EXPECT_EQ(origin->operands[0].statistics.min, 1);
  EXPECT_EQ(origin->operands[0].statistics.num_inf, 0);
  EXPECT_EQ(origin->result.num_inf, 1);
  EXPECT_EQ(origin->result.num_finite, 2);
  EXPECT_THAT(to_text(*origin), HasSubstr("the first Inf is made by exp in decoder/layer\n"));
  EXPECT_THAT(to_text(*origin), HasSubstr("operand 0, f32[3] of model/x (parameter at "));
  EXPECT_THAT(to_text(*origin), HasSubstr("): min 1, max 100, mean 50.3333, "));
}

TEST(NonFinite, TapsAreNotInTheWay) {
  const auto origin = find(
      [](const Values& x) {
        const Values kept = cond(
            sum(x[0]) > 0.0, [](const Values& v) { return Values{tap("taken", v[0] * 2.0)}; },
            [](const Values& v) { return v; }, {x[0]});
        return Values{exp(tap("kept", kept[0]))};
      },
      {kNonFiniteX});
  ASSERT_TRUE(origin);
  EXPECT_EQ(origin->op, "exp");
}

TEST(NonFinite, FiniteProgramsHaveNone) {
  EXPECT_FALSE(find([](const Values& x) { return Values{x[0] * 2.0}; }, {kNonFiniteX}));
}

// An infinity that is masked away later is no fault.
TEST(NonFinite, InfinitiesThatReachNoResultAreLeftAlone) {
  const auto masked = [](const Values& x) {
    return select(x[0] > 10.0, exp(x[0] * 100.0), exp(-x[0]));
  };
  const auto origin = find(
      [&](const Values& x) {
        const Tensor weights = exp(-masked(x));
        const NameScope scope("later");
        return Values{weights / (x[0] - x[0])};
      },
      {kNonFiniteX});
  ASSERT_TRUE(origin);
  EXPECT_EQ(origin->scope, "later");
  EXPECT_EQ(origin->op, "div");
}

// What the program checks comes before what it returns: it may have repaired its results.
TEST(NonFinite, CheckedValuesAreFollowedToo) {
  const auto origin = find(
      [](const Values& x) {
        const Tensor y = log(x[0] - 1.0);
        return Values{select(is_finite(y), y, x[0])};
      },
      {kNonFiniteX});
  ASSERT_TRUE(origin);
  EXPECT_EQ(origin->op, "log");
}

TEST(NonFinite, ANaNFromInfiniteConstantsIsMadeWhereTheyMeet) {
  const auto origin = find(
      [](const Values& x) {
        const Tensor mask = full({3}, -std::numeric_limits<double>::infinity());
        return Values{(x[0] + mask) - mask};
      },
      {kNonFiniteX});
  ASSERT_TRUE(origin);
  EXPECT_TRUE(origin->is_nan);
  EXPECT_EQ(origin->op, "sub");
}

TEST(NonFinite, ABadArgumentIsNamed) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto origin =
      find([](const Values& x) { return Values{x[0] * 2.0}; }, {HostTensor({2}, {nan, 1.0f})});
  ASSERT_TRUE(origin);
  EXPECT_EQ(origin->op, "");
  EXPECT_EQ(origin->scope, "model/x");
  EXPECT_THAT(to_text(*origin), HasSubstr("the first NaN is in the argument model/x"));
}

TEST(NonFinite, TheIterationOfALoopIsNamed) {
  const auto loop = [](bool reverse) {
    return [reverse](const Values& x) {
      const auto body = [](const Values& carry, const Values& xs) {
        const NameScope scope("layers/layer");
        return ScanResult{{carry[0] / (xs[0] - 50.0)}, {}};
      };
      return Values{scan(body, {scalar(1)}, {x[0]}, 3, {.reverse = reverse}).carry[0] * 2.0};
    };
  };
  for (const bool reverse : {false, true}) {
    const auto origin = find(loop(reverse), {kNonFiniteX});
    ASSERT_TRUE(origin);
    EXPECT_EQ(origin->op, "div");
    EXPECT_EQ(origin->scope, "layers/layer");
    EXPECT_THAT(origin->iterations, ElementsAre(1));
    EXPECT_EQ(origin->operands.at(1).statistics.max, 0);
  }
}

TEST(NonFinite, NestedBodiesAreEntered) {
  const auto origin = find(
      [](const Values& x) {
        const auto inner = [](const Values& carry, const Values& xs) {
          const auto bad = [](const Values& v) { return Values{exp(v[0])}; };
          const auto good = [](const Values& v) { return v; };
          const auto safe =
              remat([&](const Values& v) { return cond(v[0] > 99.0, bad, good, {v[0]}); }, {xs[0]},
                    save_nothing());
          return ScanResult{{carry[0] + safe[0]}, {}};
        };
        const auto outer = [&](const Values& carry, const Values&) {
          return ScanResult{scan(inner, carry, {x[0]}, 3).carry, {}};
        };
        return scan(outer, {scalar(0)}, {}, 2).carry;
      },
      {kNonFiniteX});
  ASSERT_TRUE(origin);
  EXPECT_EQ(origin->op, "exp");
  EXPECT_THAT(origin->iterations, ElementsAre(0, 2));
}

TEST(NonFinite, AWhileLoopIsEntered) {
  const auto origin = find(
      [](const Values& x) {
        return while_loop([](const Values& c) { return c[1] < 5.0; },
                          [](const Values& c) {
                            return Values{square(c[0]), c[1] + 1.0};
                          },
                          {x[0], scalar(0)});
      },
      {HostTensor::scalar(1e10f)});
  ASSERT_TRUE(origin);
  EXPECT_EQ(origin->op, "square");
  EXPECT_THAT(origin->iterations, ElementsAre(1));
}

TEST(NonFinite, TheBackwardPassIsMarked) {
  const auto loss = [](const Values& v) {
    const NameScope scope("layer");
    return Values{sum(sqrt(v[0] - 1.0))};  // the derivative at 0 is infinite
  };
  const auto origin =
      find([&](const Values& x) { return value_and_grad(loss, {x[0]}).second; }, {kNonFiniteX});
  ASSERT_TRUE(origin);
  EXPECT_TRUE(origin->backward);
  EXPECT_EQ(origin->scope, "layer");
  EXPECT_EQ(origin->op, "div");
}

TEST(NonFinite, OneBadDeviceIsEnough) {
  const auto origin = find(
      [](const Values& x) {
        return shard_map(
            [](const Values& v) { return Values{exp(v[0]) * 1.0}; }, {x[0]},
            {.mesh = {{{"data", 3}}}, .in_specs = {{{"data"}}}, .out_specs = {{{"data"}}}});
      },
      {kNonFiniteX});
  ASSERT_TRUE(origin);
  EXPECT_EQ(origin->op, "exp");
  EXPECT_THAT(origin->iterations, IsEmpty());
  EXPECT_EQ(origin->operands[0].statistics.max, 100);
  EXPECT_EQ(origin->result.num_inf, 1);
  EXPECT_EQ(origin->device, "data=2");
  EXPECT_THAT(to_text(*origin),
              HasSubstr("is made by exp in the top level, on the device data=2\n"));
}

TEST(NonFinite, TheElementIsNamed) {
  const auto origin = find(
      [](const Values& x) {
        const auto body = [](const Values& carry, const Values& xs) {
          return ScanResult{{carry[0] + exp(xs[0])}, {}};
        };
        return scan(body, {zeros({2, 3})}, {x[0]}, 2).carry;
      },
      {HostTensor({2, 2, 3},
                  {0.0f, 1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 0.0f, 1.0f, 2.0f, 3.0f, 100.0f, 200.0f})});
  ASSERT_TRUE(origin);
  EXPECT_EQ(origin->op, "exp");
  EXPECT_THAT(origin->iterations, ElementsAre(1));
  EXPECT_THAT(origin->index, ElementsAre(1, 1));
  EXPECT_EQ(origin->device, "");
  EXPECT_THAT(to_text(*origin), HasSubstr(" 2 Inf; the first at [1, 1]"));
}

TEST(NonFinite, TheElementOfANumberHasNoIndex) {
  const auto origin = find([](const Values& x) { return Values{exp(sum(x[0]))}; }, {kNonFiniteX});
  ASSERT_TRUE(origin);
  EXPECT_THAT(origin->index, IsEmpty());
  EXPECT_TRUE(to_text(*origin).ends_with(" 1 Inf")) << to_text(*origin);
}

}  // namespace
}  // namespace axle
