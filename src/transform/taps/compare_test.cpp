#include <gmock/gmock.h>

#include "ops/ops.h"
#include "transform/control_flow/control_flow.h"
#include "transform/grad.h"
#include "transform/simplify.h"
#include "transform/taps/taps.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const HostTensor kCompareX({4}, {1.0f, 2.0f, 3.0f, 4.0f});

Comparison compared(const TensorFunction& a, const TensorFunction& b,
                    const CompareOptions& options = {}) {
  const auto x = trace(a, {kCompareX.type()}), y = trace(b, {kCompareX.type()});
  return compare({*x, interpreted({kCompareX})}, {*y, interpreted({kCompareX})}, options);
}

// Two layers, of which the second differs by a factor.
TensorFunction layers(double factor) {
  return [=](const Values& x) {
    Tensor y = x[0];
    for (const std::string name : {"first", "second"}) {
      const NameScope scope(name);
      y = sin(y) * full({4}, name == "second" ? factor : 1.0);
    }
    return Values{sum(y)};
  };
}

TEST(Compare, EqualProgramsAgree) {
  const Comparison same = compared(layers(1), layers(1));
  EXPECT_FALSE(same.first);
  EXPECT_THAT(same.unmatched, IsEmpty());
  EXPECT_EQ(to_text(same), "all values agree");
}

TEST(Compare, TheFirstOpThatDiffersIsNamed) {
  for (const int64_t max_bytes : {1, 1 << 20}) {
    const Comparison c = compared(layers(1), layers(1.5), {.max_bytes = max_bytes});
    ASSERT_TRUE(c.first);
    EXPECT_EQ(c.first->op, "full");
    EXPECT_EQ(c.first->scope, "second");
    EXPECT_EQ(c.first->largest, 0.5);
    EXPECT_EQ(c.first->b, 1.5);
    EXPECT_EQ(c.first->result_b.max, 1.5);
  }
}

TEST(Compare, TheLargestDifferenceHasAPosition) {
  const auto program = [](double at_two) {
    return [=](const Values& x) {
      const Tensor y = reshape(x[0], {2, 2});
      return Values{select(equal(y, 3.0), y * at_two, y)};
    };
  };
  const Comparison c = compared(program(1), program(1.25));
  ASSERT_TRUE(c.first);
  EXPECT_EQ(c.first->op, "full");
  const auto one_op = [](bool third) {
    return [=](const Values& x) {
      const Tensor y = square(reshape(x[0], {2, 2}));
      return Values{third ? cumsum(y, 0) : cumsum(y, 1)};
    };
  };
  const Comparison d = compared(one_op(false), one_op(true));
  ASSERT_TRUE(d.first);
  EXPECT_EQ(d.first->op, "cumsum");
  EXPECT_THAT(d.first->position, ElementsAre(1, 1));
  EXPECT_EQ(d.first->a, 25);
  EXPECT_EQ(d.first->b, 20);
  EXPECT_EQ(d.first->operands_a.at(0).statistics.mean, 7.5);
  EXPECT_THAT(to_text(d), HasSubstr("the first difference is made by cumsum in the top level\n"));
  EXPECT_THAT(to_text(d), HasSubstr("result 0: 25 and 20 at [1, 1]"));
}

TEST(Compare, DifferencesWithinTheToleranceAgree) {
  EXPECT_FALSE(compared(layers(1), layers(1.001), {.tolerance = 1e-2}).first);
  EXPECT_TRUE(compared(layers(1), layers(1.001), {.tolerance = 1e-4}).first);
}

// A loop that computes something else in one iteration.
TensorFunction loop(double factor, bool reverse) {
  return [=](const Values& x) {
    const auto body = [=](const Values& carry, const Values& xs) {
      const NameScope scope("layer");
      const auto taken = [&](const Values& v) { return Values{v[0] * full({}, factor)}; };
      const auto other = [](const Values& v) { return v; };
      const Tensor here = xs[0] * 1.0;
      return ScanResult{cond(equal(here, 3.0), taken, other, {carry[0] + here}), {carry[0]}};
    };
    return scan(body, {scalar(0)}, {x[0]}, 4, {.reverse = reverse}).carry;
  };
}

TEST(Compare, BodiesAreEnteredDownToTheIteration) {
  for (const bool reverse : {false, true}) {
    const Comparison c = compared(loop(1, reverse), loop(2, reverse));
    ASSERT_TRUE(c.first);
    EXPECT_EQ(c.first->op, "full");
    EXPECT_EQ(c.first->scope, "layer");
    EXPECT_THAT(c.first->iterations, ElementsAre(2));
  }
}

TEST(Compare, AWhileLoopIsEntered) {
  const auto program = [](double step) {
    return [=](const Values& x) {
      return while_loop([](const Values& c) { return c[0] < 5.0; },
                        [=](const Values& c) {
                          const Tensor faster = select(c[0] > 2.5, scalar(step), scalar(1.0));
                          return Values{c[0] + faster};
                        },
                        {sum(x[0]) * 0.0});
    };
  };
  const Comparison c = compared(program(1), program(3));
  ASSERT_TRUE(c.first);
  EXPECT_EQ(c.first->op, "full");
  EXPECT_THAT(c.first->iterations, ElementsAre(0));
}

TEST(Compare, DtypesMayDiffer) {
  const auto program = [](DType dtype) {
    return [=](const Values& x) {
      const NameScope scope("layer");
      return Values{exp(astype(x[0], dtype) * 10.0)};
    };
  };
  EXPECT_FALSE(compared(program(DType::kBF16), program(DType::kF32), {.tolerance = 0.02}).first);
  const Comparison c = compared(program(DType::kF16), program(DType::kBF16), {.tolerance = 0.02});
  ASSERT_TRUE(c.first);  // exp(40) is infinite in f16 alone
  EXPECT_EQ(c.first->op, "exp");
  EXPECT_TRUE(std::isinf(c.first->largest));
}

TEST(Compare, OpsOfOneProgramAloneAreTold) {
  const auto more = [](const Values& x) {
    const NameScope scope("layer");
    return Values{sum(tanh(sin(x[0])))};
  };
  const auto less = [](const Values& x) {
    const NameScope scope("layer");
    return Values{sum(sin(x[0]))};
  };
  const Comparison c = compared(more, less);
  EXPECT_THAT(c.unmatched, ElementsAre("tanh of [4] in layer: 1 in a, 0 in b"));
  ASSERT_TRUE(c.first);
  EXPECT_EQ(c.first->op, "reduce_sum");
}

TEST(Compare, ASimplifiedProgramAgreesWithItself) {
  const auto loss = [](const Values& v) { return Values{sum(square(sin(v[0] * 2.0)))}; };
  const auto fn = [&](const Values& x) { return value_and_grad(loss, {x[0]}).second; };
  const auto plain = trace(fn, {kCompareX.type()});
  const auto simple = simplify(*plain);
  EXPECT_FALSE(compare({*plain, interpreted({kCompareX})}, {*simple, interpreted({kCompareX})},
                       {.tolerance = 0})
                   .first);
}

}  // namespace
}  // namespace axle
