#include "transform/simplify.h"

#include <gmock/gmock.h>

#include "ir/eval.h"
#include "ir/text/print.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"
#include "ops/elementwise/trigonometry.h"
#include "ops/movement/broadcast.h"
#include "ops/movement/shape.h"
#include "ops/products/dot.h"
#include "ops/reductions/reduce.h"
#include "testing/host_tensors.h"
#include "transform/call.h"
#include "transform/control_flow/cond.h"
#include "transform/control_flow/scan.h"
#include "transform/control_flow/while_loop.h"
#include "transform/grad.h"
#include "transform/remat/remat.h"

namespace axle {
namespace {

using testing::normal_values;

struct Simplified {
  std::shared_ptr<Region> before, after;
  int64_t count(std::string_view op) const { return count_ops(*after, op); }
};

// Simplifies fn and expects the same results to the last bit.
Simplified simplified(const TensorFunction& fn, const std::vector<HostTensor>& arguments) {
  std::vector<Type> types;
  for (const HostTensor& x : arguments) types.push_back(x.type());
  const auto before = trace(fn, types);
  const auto after = simplify(*before);
  const auto expected = evaluate(*before, arguments), actual = evaluate(*after, arguments);
  EXPECT_EQ(expected.size(), actual.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(actual[i], expected[i]) << "result " << i;
  EXPECT_EQ(print(*simplify(*after)), print(*after)) << "a second time finds more";
  return {before, after};
}

const HostTensor kX = normal_values({4}, 1), kRows = normal_values({3, 4}, 2);

TEST(Simplify, EqualOpsBecomeOne) {
  const auto s = simplified(
      [](const Values& v) {
        return Values{sin(v[0] * v[0]) + sin(v[0] * v[0]), exp(v[0]) * 2, exp(v[0]) * 3};
      },
      {kX});
  EXPECT_EQ(s.count("sin"), 1);
  EXPECT_EQ(s.count("exp"), 1);
  EXPECT_EQ(s.count("mul"), 3);
}

TEST(Simplify, OpsWithOtherAttributesStayApart) {
  const auto s = simplified(
      [](const Values& v) {
        return Values{sum(v[0]), reduce_sum(v[0], {1}), reduce_sum(v[0], {0})};
      },
      {kRows});
  EXPECT_EQ(s.count("reduce_sum"), 3);
}

TEST(Simplify, PhasesAndBarriersStayApart) {
  const auto gradient = [](const Values& v) {
    const auto fn = [](const Values& x) {
      const auto body = [](const Values& a) { return Values{sin(sin(a[0]))}; };
      return Values{sum(remat(body, x, save_nothing(), false)[0])};
    };
    const auto [loss, gradients] = value_and_grad(fn, v);
    return Values{loss[0], gradients[0]};
  };
  const auto s = simplified(gradient, {kX});
  // Two of the forward pass, and the inner one recomputed without a barrier.
  EXPECT_EQ(s.count("sin"), 3);
  EXPECT_EQ(s.count("optimization_barrier"), 0);
  const auto both = simplified(
      [&](const Values& v) {
        const Values a = optimization_barrier({v[0]}), b = optimization_barrier({v[0]});
        return Values{sin(a[0]), sin(b[0])};
      },
      {kX});
  EXPECT_EQ(both.count("optimization_barrier"), 2);
  EXPECT_EQ(both.count("sin"), 2);
}

TEST(Simplify, MovedSplatsAreSplats) {
  const auto s = simplified(
      [](const Values& v) {
        const Tensor half = scalar(0.1, DType::kBF16);
        const Tensor wide = broadcast_to(astype(half, DType::kF32), {2, 2});
        return Values{v[0] + reshape(transpose(wide, {1, 0}), {4})};
      },
      {kX});
  EXPECT_EQ(s.count("full"), 1);
  EXPECT_EQ(s.after->ops().size(), 2u);
}

// Three carries: one that only itself needs, one that is passed on, one that counts.
Values loop(const Values& v) {
  const ScanResult r = scan(
      [](const Values& c, const Values& xs) {
        const Tensor unused = sin(c[0]) + xs[1];
        return ScanResult{{unused, c[1], c[2] * c[1] + xs[0]}, {exp(c[0]), xs[0] * 2}};
      },
      {v[0], v[0], v[0]}, {v[1], v[1]}, 3);
  return {r.carry[2], r.carry[1], r.ys[1]};
}

TEST(Simplify, LoopsLoseWhatNothingNeeds) {
  const auto s = simplified(loop, {kX, kRows});
  EXPECT_EQ(s.count("sin"), 0);
  EXPECT_EQ(s.count("exp"), 0);
  for (const OpNode* op : s.after->ops()) {
    if (op->rules->name() != "scan") continue;
    EXPECT_EQ(op->inputs.size(), 3u);   // the passed carry as a const, a carry, xs
    EXPECT_EQ(op->outputs.size(), 2u);  // the carry, ys
  }
}

TEST(Simplify, ALoopOfWhichNothingIsLeftGoes) {
  const auto s = simplified(
      [](const Values& v) {
        return Values{scan(
                          [](const Values& c, const Values&) {
                            return ScanResult{{c[0], sin(c[1])}, {}};
                          },
                          {v[0], v[0]}, {}, 3)
                          .carry[0]};
      },
      {kX});
  EXPECT_EQ(s.count("scan"), 0);
}

TEST(Simplify, CarriesThatNeedEachOtherStay) {
  const auto s = simplified(
      [](const Values& v) {
        return Values{scan(
                          [](const Values& c, const Values&) {
                            return ScanResult{{c[1], c[2], sin(c[0])}, {}};
                          },
                          {v[0], v[0] * 2, v[0] * 3}, {}, 4)
                          .carry[0]};
      },
      {kX});
  EXPECT_EQ(s.count("sin"), 1);
}

// Equal ops are found by the texts of their attributes.
TEST(Simplify, ConstantsThatDifferInTheirLastBitStayApart) {
  const HostTensor one = HostTensor::scalar(1.0), next = HostTensor::scalar(1.0 + 0x1p-52);
  const auto region = simplify(*trace(
      [&](const Values&) {
        return Values{constant(one) + constant(one), constant(next) + constant(next)};
      },
      {}));
  EXPECT_EQ(count_ops(*region, "constant"), 2);
  EXPECT_EQ(evaluate(*region, {})[1].values<double>()[0], 2 + 0x1p-51);
}

TEST(Simplify, BranchesAndCallsLoseUnusedResults) {
  const auto two = [](const Values& x) { return Values{sin(x[0]), exp(x[1])}; };
  const auto other = [](const Values& x) { return Values{cos(x[0]), x[1] * 2}; };
  const std::vector<HostTensor> arguments = {kX, kX, HostTensor::scalar(true)};
  const auto branch = simplified(
      [&](const Values& v) {
        return Values{cond(v[2], two, other, {v[0], v[1]})[1]};
      },
      arguments);
  EXPECT_EQ(branch.count("sin") + branch.count("cos"), 0);
  const auto called = simplified(
      [&](const Values& v) {
        return Values{call("two", two, {v[0], v[1]})[0]};
      },
      arguments);
  EXPECT_EQ(called.count("exp"), 0);
  const auto rematted = simplified(
      [&](const Values& v) {
        return Values{remat(two, {v[0], v[1]}, save_nothing())[0]};
      },
      arguments);
  EXPECT_EQ(rematted.count("exp"), 0);
}

TEST(Simplify, WhileLoopsStayAsTheyAre) {
  simplified(
      [](const Values& v) {
        return while_loop([](const Values& c) { return c[1] < 3; },
                          [](const Values& c) {
                            return Values{sin(c[0]) + sin(c[0]), c[1] + 1};
                          },
                          {v[0], scalar(0, DType::kI32)});
      },
      {kX});
}

TEST(Simplify, AFoldedSplatIsConvertedLikeAnyTensor) {
  const auto s = simplified(
      [](const Values&) {
        return Values{astype(full({2}, 2.75), DType::kI32), astype(full({2}, -0.1), DType::kI32),
                      astype(full({2}, 0.1), DType::kPred), astype(full({2}, 7), DType::kF64)};
      },
      {});
  EXPECT_EQ(s.count("convert"), 0);
}

// After the double vjp, the product of the primal and that of the tangents are left, each in a
// forward loop.
TEST(Simplify, KeepsTheProductsOfAJvpInTwoLoops) {
  const auto s = simplified(
      [](const Values& v) {
        const auto fn = [](const Values& x) {
          return scan(
                     [](const Values& c, const Values& w) {
                       return ScanResult{{tanh(dot(c[0], w[0]))}, {}};
                     },
                     {x[0]}, {x[1]}, 3)
              .carry;
        };
        return jvp(fn, {v[0], v[1]}, {v[2], {}}).second;
      },
      {kX, normal_values({3, 4, 4}, 3), normal_values({4}, 4)});
  int64_t dots = 0;
  for (const OpNode* op : s.after->ops()) {
    if (op->rules->name() == "scan") dots += count_ops(*op->regions[0], "dot_general");
  }
  EXPECT_EQ(dots, 2) << print(*s.after);
}

}  // namespace
}  // namespace axle
