#include "transform/simplify.h"

#include <gmock/gmock.h>

#include "ir/eval.h"
#include "ir/text/text_form.h"
#include "ops/annotate.h"
#include "ops/collectives/collective.h"
#include "ops/collectives/collectives.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/products/products.h"
#include "ops/reductions/reductions.h"
#include "testing/host_tensors.h"
#include "transform/call.h"
#include "transform/control_flow/control_flow.h"
#include "transform/grad.h"
#include "transform/kernel/kernels.h"
#include "transform/remat/remat.h"
#include "transform/shard_map/shard_map.h"

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

const HostTensor kSimplifyX = normal_values({4}, 1), kRows = normal_values({3, 4}, 2);

TEST(Simplify, EqualOpsBecomeOne) {
  const auto s = simplified(
      [](const Values& v) {
        return Values{sin(v[0] * v[0]) + sin(v[0] * v[0]), exp(v[0]) * 2, exp(v[0]) * 3};
      },
      {kSimplifyX});
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
  const auto s = simplified(gradient, {kSimplifyX});
  // Two of the forward pass, and the inner one recomputed without a barrier.
  EXPECT_EQ(s.count("sin"), 3);
  EXPECT_EQ(s.count("optimization_barrier"), 0);
  const auto both = simplified(
      [&](const Values& v) {
        const Values a = optimization_barrier({v[0]}), b = optimization_barrier({v[0]});
        return Values{sin(a[0]), sin(b[0])};
      },
      {kSimplifyX});
  EXPECT_EQ(both.count("optimization_barrier"), 2);
  EXPECT_EQ(both.count("sin"), 2);
}

TEST(Simplify, MovedSplatsAreSplats) {
  const auto s = simplified(
      [](const Values& v) {
        const Tensor narrow = scalar(0.125, DType::kBF16);
        const Tensor wide = broadcast_to(astype(narrow, DType::kF32), {2, 2});
        return Values{v[0] + reshape(transpose(wide, {1, 0}), {4})};
      },
      {kSimplifyX});
  EXPECT_EQ(s.count("full"), 1);
  EXPECT_EQ(s.after->ops().size(), 2u);
}

// bf16 rounds 0.1, evaluation in f64 does not.
TEST(Simplify, SplatsMeanTheSameInF64) {
  const auto fn = [](const Values& v) {
    const Tensor narrow = scalar(0.1, DType::kBF16);
    const Tensor wide = broadcast_to(astype(narrow, DType::kF32), {4});
    return Values{v[0] + wide, v[0] + astype(broadcast_to(narrow, {4}), DType::kF32)};
  };
  const auto region = trace(fn, {kSimplifyX.type()});
  for (const bool f64 : {false, true}) {
    EXPECT_EQ(evaluate(*simplify(*region), {kSimplifyX}, {.f64 = f64}),
              evaluate(*region, {kSimplifyX}, {.f64 = f64}));
  }
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
  const auto s = simplified(loop, {kSimplifyX, kRows});
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
      {kSimplifyX});
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
      {kSimplifyX});
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
  const std::vector<HostTensor> arguments = {kSimplifyX, kSimplifyX, HostTensor::scalar(true)};
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

// Returns the only op of this name. Op counts do not tell its operands and results.
const OpNode& only(const Region& region, std::string_view name) {
  const OpNode* found = nullptr;
  for (const OpNode* op : region.ops()) {
    if (op->rules->name() != name) continue;
    EXPECT_EQ(found, nullptr) << "two of " << name;
    found = op;
  }
  EXPECT_NE(found, nullptr) << "no " << name;
  return *found;
}
struct Size {
  size_t operands, results;
  bool operator==(const Size&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Size& s) {
  return out << s.operands << " operands, " << s.results << " results";
}
Size size_of(const Region& region, std::string_view name) {
  const OpNode& op = only(region, name);
  return {op.inputs.size(), op.outputs.size()};
}

// Carries: x, a count, one that only itself needs with the two tensors that it reads, one that
// another needs, one that is passed on.
Values until_three(const Values& v) {
  const Tensor limit = scalar(3, DType::kI32), outer = exp(v[0]), other = cos(v[0]);
  return while_loop([&](const Values& c) { return c[1] < limit; },
                    [&](const Values& c) {
                      return Values{sin(c[0]) + sin(c[0]) * c[3], c[1] + 1, tan(c[2]) + outer,
                                    c[3] * other + c[4], c[4]};
                    },
                    {v[0], scalar(0, DType::kI32), sqrt(v[0]), v[0] * 2, v[0] * 3});
}

TEST(Simplify, WhileLoopsLoseCarriesThatNothingNeeds) {
  const auto s =
      simplified([](const Values& v) { return Values{until_three(v)[0]}; }, {kSimplifyX});
  EXPECT_EQ(size_of(*s.before, "while"), (Size{8, 5}));
  // The limit, the cosine and the carry that is passed on; three carries.
  EXPECT_EQ(size_of(*s.after, "while"), (Size{6, 3}));
  EXPECT_EQ(s.count("tan") + s.count("exp") + s.count("sqrt"), 0);
  EXPECT_EQ(s.count("sin"), 1);
  // The count alone: what the condition needs.
  const auto count =
      simplified([](const Values& v) { return Values{until_three(v)[1]}; }, {kSimplifyX});
  EXPECT_EQ(size_of(*count.after, "while"), (Size{2, 1}));
  EXPECT_EQ(count.after->ops().size(), 3u) << "the limit, the first count, the loop";
  const auto all = simplified(until_three, {kSimplifyX});
  EXPECT_EQ(size_of(*all.after, "while"), (Size{8, 4}));
}

TEST(Simplify, WhileLoopsOfWhichNothingIsLeftGo) {
  const auto s =
      simplified([](const Values& v) { return Values{until_three(v)[4]}; }, {kSimplifyX});
  EXPECT_EQ(s.count("while"), 0);
}

// The outer loop needs the second carry of the inner one only for a carry that nobody reads.
TEST(Simplify, WhileLoopsInWhileLoopsLoseCarries) {
  const auto s = simplified(
      [](const Values& v) {
        const auto loop = [](const Values& c, const auto& step) {
          return while_loop([](const Values& w) { return w[0] < 2; },
                            [&](const Values& w) {
                              const Values next = step(w);
                              return Values{w[0] + 1, next[0], next[1]};
                            },
                            {scalar(0, DType::kI32), c[1], c[2]});
        };
        const Values start{scalar(0, DType::kI32), v[0], v[0] * 2};
        const Values last = loop(start, [&](const Values& w) {
          const Values inner = loop(w, [](const Values& u) {
            return Values{sin(u[1]), exp(u[2])};
          });
          return Values{inner[1], inner[2]};
        });
        return Values{last[1]};
      },
      {kSimplifyX});
  EXPECT_EQ(s.count("exp"), 0);
  EXPECT_EQ(size_of(*s.after, "while"), (Size{2, 2}));
  EXPECT_EQ(size_of(only(*s.after, "while").region(1), "while"), (Size{2, 2}));
}

// What a carry that the condition reads computes stays, though no result needs it.
TEST(Simplify, WhileLoopsKeepWhatTheirConditionNeeds) {
  const auto s = simplified(
      [](const Values& v) {
        return Values{while_loop([](const Values& c) { return sum(c[1]) < 100; },
                                 [](const Values& c) {
                                   return Values{sin(c[0]), c[1] * 2 + c[2], c[2] + 1};
                                 },
                                 {v[0], v[0] * v[0], v[0] * v[0]})[0]};
      },
      {kSimplifyX});
  EXPECT_EQ(size_of(*s.after, "while"), (Size{3, 3}));
}

TEST(Simplify, ShardMapsLoseUnusedResultsAndWhatTheyRead) {
  const auto fn = [](const Values& v) {
    const Tensor outer = cos(v[0]);
    return shard_map(
        [&](const Values& p) {
          const Tensor position = astype(axis_index({"data"}), DType::kF32);
          return Values{sin(p[0]) + position, psum(exp(p[1]), {"data"}) * sum(outer), p[0], p[2]};
        },
        {v[0], sqrt(v[0] * v[0]), v[0]},
        {.mesh = {{{"data", 2}}},
         .in_specs = {{{"data"}}, {{"data"}}, {}},
         .out_specs = {{{"data"}}, {}, {{"data"}}, {{"data"}}}});
  };
  const auto result = [&](std::vector<size_t> results) {
    return simplified(
        [&](const Values& v) {
          Values out;
          for (const size_t i : results) out.push_back(fn(v)[i]);
          return out;
        },
        {kSimplifyX});
  };
  const auto s = result({0});
  // The captured cosine, three arguments, the positions.
  EXPECT_EQ(size_of(*s.before, "shard_map"), (Size{5, 4}));
  EXPECT_EQ(size_of(*s.after, "shard_map"), (Size{2, 1}));
  EXPECT_EQ(s.count("psum") + s.count("exp") + s.count("cos") + s.count("sqrt"), 0);
  EXPECT_EQ(size_of(*result({1}).after, "shard_map"), (Size{2, 1}));
  // The parts of the argument, put together again as they were, are the argument.
  EXPECT_EQ(result({2}).count("shard_map"), 0);
  // A copy of each device is not.
  EXPECT_EQ(size_of(*result({3}).after, "shard_map"), (Size{1, 1}));
}

CustomVjp two_outputs(const Tensor& primal_only, const Tensor& of_both) {
  return {.name = "two",
          .forward =
              [=](const Values& x) {
                return WithResiduals{{sin(x[0]) * sum(of_both), exp(x[1]) * sum(primal_only)},
                                     {cos(x[0])}};
              },
          .backward =
              [](const Values& saved, const Values& g) {
                return Values{g[0] * saved[0] * 5 + g[1], g[0] * 7 + g[1] * 2};
              }};
}

TEST(Simplify, CustomVjpsLoseUnusedResultsAndKeepTheirRule) {
  const auto fn = [](const Values& v) {
    const Tensor a = stop_gradient(tan(v[0])), b = stop_gradient(tanh(v[0]));
    return Values{custom_vjp(two_outputs(a, b), {v[0], v[1]})[0]};
  };
  const auto s = simplified(fn, {kSimplifyX, kSimplifyX});
  // Two captured tensors, two arguments. Nobody reads the second argument now, but the rule gives
  // it a gradient.
  EXPECT_EQ(size_of(*s.before, "custom_vjp"), (Size{4, 2}));
  EXPECT_EQ(size_of(*s.after, "custom_vjp"), (Size{3, 1}));
  EXPECT_EQ(s.count("exp") + s.count("tan"), 0);
  const auto gradients = [](const Region& region) {
    return eval(
        [&](const Values& v) {
          return value_and_grad(
                     [&](const Values& x) { return Values{sum(inline_region(region, x)[0])}; }, v)
              .second;
        },
        {kSimplifyX, kSimplifyX});
  };
  EXPECT_EQ(gradients(*s.after), gradients(*s.before));
  EXPECT_EQ(gradients(*s.after)[1], HostTensor({4}, {7.f, 7.f, 7.f, 7.f}));
}

// An implementation writes all results of a kernel.
TEST(Simplify, KernelCallsGoAsAWhole) {
  const auto fn = [](const Values& v) { return Values{gated_silu(v[0], v[0]), v[0] * 2}; };
  EXPECT_EQ(simplified(fn, {kSimplifyX}).count("kernel_call"), 1);
  const auto other = [&](const Values& v) { return Values{fn(v)[1]}; };
  EXPECT_EQ(simplified(other, {kSimplifyX}).count("kernel_call"), 0);
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
      {kSimplifyX, normal_values({3, 4, 4}, 3), normal_values({4}, 4)});
  int64_t dots = 0;
  for (const OpNode* op : s.after->ops()) {
    if (op->rules->name() == "scan") dots += count_ops(*op->regions[0], "dot_general");
  }
  EXPECT_EQ(dots, 2) << print(*s.after);
}

}  // namespace
}  // namespace axle
