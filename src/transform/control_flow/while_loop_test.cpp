#include <gmock/gmock.h>

#include "ir/text/text_form.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reductions/reductions.h"
#include "testing/error_without_lines.h"
#include "testing/gradient_check.h"
#include "testing/host_tensors.h"
#include "transform/call.h"
#include "transform/control_flow/control_flow.h"
#include "transform/grad.h"
#include "transform/remat/remat.h"
#include "transform/vmap.h"

namespace axle {
namespace {

// Doubles x until it is larger than the limit; counts the iterations.
Values doubled(const Values& v) {
  const Tensor limit = v[1];
  return while_loop([&](const Values& c) { return c[0] <= limit; },
                    [](const Values& c) {
                      return Values{c[0] * 2, c[1] + 1};
                    },
                    {v[0], scalar(0, DType::kI32)});
}

TEST(WhileLoop, TheLoopGoesOnWhileTheConditionHolds) {
  const auto y = eval(doubled, {HostTensor::scalar(3.f), HostTensor::scalar(20.f)});
  EXPECT_EQ(y[0].at(0), 24);
  EXPECT_EQ(y[1].at(0), 3);
  EXPECT_EQ(eval(doubled, {HostTensor::scalar(3.f), HostTensor::scalar(1.f)})[1].at(0), 0);
}

TEST(WhileLoop, UnderVmapEachExampleStopsByItself) {
  const auto y = eval([](const Values& v) { return vmap(doubled, v); },
                      {HostTensor({3}, {3.f, 30.f, 1.f}), HostTensor({3}, {20.f, 20.f, 20.f})});
  EXPECT_EQ(y[0], HostTensor({3}, {24.f, 30.f, 32.f}));
  EXPECT_EQ(y[1], HostTensor({3}, {3, 0, 5}));
}

// The condition is the same for all examples, the carry is not.
TEST(WhileLoop, UnderVmapALoopOfOneLengthIsNotSelected) {
  const auto fn = [](const Values& v) {
    return vmap(
        [](const Values& x) {
          const auto goes_on = [](const Values& c) { return c[0] < 3; };
          const auto step = [&](const Values& c) { return Values{c[0] + 1, c[1] * x[0]}; };
          return Values{while_loop(goes_on, step, {scalar(0, DType::kI32), scalar(1)})[1]};
        },
        v);
  };
  EXPECT_EQ(eval(fn, {HostTensor({2}, {2.f, 3.f})})[0], HostTensor({2}, {8.f, 27.f}));
  const auto region = trace(fn, {{DType::kF32, {2}}});
  for (const OpNode* op : region->ops()) {
    if (op->rules->name() != "while") continue;
    EXPECT_EQ(op->outputs[0].dims, Shape{});
  }
}

TEST(WhileLoop, HasNoReverseModeAndSaysWhatHas) {
  EXPECT_EQ(error_without_lines<ShapeError>([] {
              trace(
                  [](const Values& v) {
                    return vjp(doubled, v).pullback({v[0], Tensor()});
                  },
                  {{DType::kF32, {}}, {DType::kF32, {}}});
            }),
            "the top level: while: expected a loop with a known number of iterations in reverse "
            "mode, got a while loop; use scan, fori_loop with bounds that are numbers, or "
            "bounded_while with max_steps; operands: f32[] of the top level (parameter), f32[] of "
            "the top level (parameter), i32[] of the top level "
            "(full)");
}

// What a while loop and a bounded one give in a direction: values, derivatives, and for fn(x, v)
// with v an argument, so that jvp itself can be mapped, differentiated and nested.
TensorFunction moved(const TensorFunction& fn) {
  return [fn](const Values& v) {
    const size_t n = v.size() / 2;
    const Values x(v.begin(), v.begin() + static_cast<ptrdiff_t>(n));
    Values directions(v.begin() + static_cast<ptrdiff_t>(n), v.end());
    for (size_t i = 0; i < n; ++i) {
      if (!is_differentiable(x[i].dtype())) directions[i] = Tensor();
    }
    auto [out, derivatives] = jvp(fn, x, directions);
    for (const Tensor& d : derivatives) {
      if (d) out.push_back(d);
    }
    return out;
  };
}

using Loop = std::function<Values(const WhileCondition&, const WhileBody&, const Values&)>;
const Loop kOpen = while_loop;
const Loop kBounded = [](const WhileCondition& condition, const WhileBody& body,
                         const Values& init) { return bounded_while(condition, body, init, 12); };

// Functions of f32[] x, f32[] limit, i32[] n that loop.
struct Looping {
  const char* name;
  std::function<Values(const Loop& loop, const Values& v)> fn;
};
Tensor powers(const Loop& loop, const Tensor& x, const Tensor& limit) {
  return loop(
      [&](const Values& c) { return c[0] <= limit; },
      [&](const Values& c) { return Values{c[0] * 2 + sin(c[0] * x) * 0.125 + limit * 0.0078125}; },
      {x * x + 1})[0];
}
const std::vector<Looping>& looping() {
  static const std::vector<Looping> all = {
      {"alone", [](const Loop& l, const Values& v) { return Values{powers(l, v[0], v[1])}; }},
      {"between other ops",
       [](const Loop& l, const Values& v) {
         return Values{exp(powers(l, sin(v[0]), v[1]) * 0.125) * v[0], v[1] * 3};
       }},
      {"two in a row",
       [](const Loop& l, const Values& v) {
         return Values{powers(l, powers(l, v[0], v[1]) * 0.125, v[1] + v[0])};
       }},
      {"a carry that becomes active",
       [](const Loop& l, const Values& v) {
         return l([&](const Values& c) { return c[2] < v[2]; },
                  [&](const Values& c) {
                    return Values{c[1] * 0.5 + c[0], c[1] * v[0], c[2] + 1};
                  },
                  {scalar(1), scalar(2), scalar(0, DType::kI32)});
       }},
      {"in a scan",
       [](const Loop& l, const Values& v) {
         const auto step = [&](const Values& carry, const Values&) {
           return ScanResult{{powers(l, carry[0] * 0.125, v[1])}, {carry[0]}};
         };
         const ScanResult out = scan(step, {v[0]}, {}, 3);
         return Values{out.carry[0], sum(out.ys[0])};
       }},
      {"in a cond",
       [](const Loop& l, const Values& v) {
         return cond(
             v[0] > 0, [&](const Values& x) { return Values{powers(l, x[0], v[1])}; },
             [&](const Values& x) { return Values{powers(l, x[0] * 0.5, v[1]) * 2}; }, {v[0]});
       }},
      {"in a remat",
       [](const Loop& l, const Values& v) {
         return remat([&](const Values& x) { return Values{sin(powers(l, x[0], v[1]))}; }, {v[0]},
                      save_nothing());
       }},
      {"in a call",
       [](const Loop& l, const Values& v) {
         const auto f = [&](const Values& x) { return Values{sin(powers(l, x[0], x[1]))}; };
         return call("f", f, {call("f", f, {v[0], v[1]})[0], v[1]});
       }},
      {"in a while",
       [](const Loop& l, const Values& v) {
         return l([&](const Values& c) { return c[0] < v[2]; },
                  [&](const Values& c) {
                    return Values{c[0] + 1, powers(l, c[1] * 0.125, v[1])};
                  },
                  {scalar(0, DType::kI32), v[0]});
       }},
      {"under vmap",
       [](const Loop& l, const Values& v) {
         const auto each = [&](const Values& x) { return Values{powers(l, x[0], v[1])}; };
         return vmap(each, {v[0] * iota({3}, 0, DType::kF32)});
       }},
  };
  return all;
}

const std::vector<HostTensor> kPoint = {HostTensor::scalar(0.7f),  HostTensor::scalar(20.f),
                                        HostTensor::scalar(3),     HostTensor::scalar(0.6f),
                                        HostTensor::scalar(-0.4f), HostTensor::scalar(0)};

void expect_near(const std::vector<HostTensor>& actual, const std::vector<HostTensor>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_EQ(actual[i].shape(), expected[i].shape());
    for (int64_t j = 0; j < actual[i].size(); ++j) {
      const double e = expected[i].at(j);
      EXPECT_NEAR(actual[i].at(j), e, 1e-10 * std::max(1.0, std::abs(e))) << i << " [" << j << "]";
    }
  }
}

TEST(WhileLoop, ForwardModeIsThatOfABoundedLoop) {
  for (const Looping& row : looping()) {
    SCOPED_TRACE(row.name);
    const auto open = [&](const Values& v) { return row.fn(kOpen, v); };
    const auto bounded = [&](const Values& v) { return row.fn(kBounded, v); };
    const EvalOptions f64{.f64 = true};
    expect_near(eval(moved(open), kPoint, f64), eval(moved(bounded), kPoint, f64));
    // jvp of jvp: the direction moves, too.
    std::vector<HostTensor> twice = kPoint;
    twice.insert(twice.end(), kPoint.begin(), kPoint.end());
    expect_near(eval(moved(moved(open)), twice, f64), eval(moved(moved(bounded)), twice, f64));
  }
}

TEST(WhileLoop, ForwardModeIsTheSlope) {
  for (const Looping& row : looping()) {
    SCOPED_TRACE(row.name);
    const auto fn = [&](const Values& v) { return row.fn(kOpen, {v[0], v[1], v[2]}); };
    const EvalOptions f64{.f64 = true};
    const double eps = 1e-6;
    const auto at = [&](double step) {
      std::vector<HostTensor> x(kPoint.begin(), kPoint.begin() + 3);
      for (size_t i = 0; i < 2; ++i) {
        x[i] = x[i].astype(DType::kF64);
        x[i].values<double>()[0] += step * kPoint[i + 3].at(0);
      }
      return evaluate(*trace(fn, {{DType::kF32, {}}, {DType::kF32, {}}, {DType::kI32, {}}}), x,
                      f64);
    };
    const auto out = eval(moved(fn), kPoint, f64), above = at(eps), below = at(-eps);
    size_t next = above.size();
    for (size_t i = 0; i < above.size(); ++i) {
      if (!is_float(above[i].dtype())) continue;
      for (int64_t j = 0; j < above[i].size(); ++j) {
        const double slope = (above[i].at(j) - below[i].at(j)) / (2 * eps);
        EXPECT_NEAR(out[next].at(j), slope, 1e-6 * std::max(1.0, std::abs(slope)));
      }
      ++next;
    }
    EXPECT_EQ(next, out.size());
  }
}

TEST(WhileLoop, UnderVmapForwardModeIsThatOfEachExample) {
  const auto fn = [](const Values& v) { return Values{powers(kOpen, v[0], v[1])}; };
  const std::vector<HostTensor> batch = {HostTensor({2}, {0.7f, -3.f}),
                                         HostTensor({2}, {20.f, 5.f}), HostTensor({2}, {0.6f, 1.f}),
                                         HostTensor({2}, {0.f, 2.f})};
  const EvalOptions f64{.f64 = true};
  const auto mapped = eval([&](const Values& v) { return vmap(moved(fn), v); }, batch, f64);
  for (int64_t i = 0; i < 2; ++i) {
    std::vector<HostTensor> one;
    for (const HostTensor& x : batch)
      one.push_back(HostTensor::scalar(static_cast<float>(x.at(i))));
    const auto alone = eval(moved(fn), one, f64);
    for (size_t r = 0; r < 2; ++r) EXPECT_NEAR(mapped[r].at(i), alone[r].at(0), 1e-12);
  }
}

// The loop runs once: what it prints is printed once, and no loop without tangents is left.
TEST(WhileLoop, ForwardModeComputesTheLoopOnce) {
  const auto fn = [](const Values& v) { return Values{powers(kOpen, v[0], v[1])}; };
  const auto region = trace(moved(fn), std::vector<Type>(4, Type{DType::kF32, {}}));
  EXPECT_EQ(count_ops(*region, "while"), 1);
  EXPECT_EQ(count_ops(*region, "while_pullback"), 0);
  for (const Looping& row : looping()) {
    const auto all = trace(moved([&](const Values& v) { return row.fn(kOpen, v); }),
                           {kPoint[0].type(), kPoint[1].type(), kPoint[2].type(), kPoint[3].type(),
                            kPoint[4].type(), kPoint[5].type()});
    EXPECT_EQ(count_ops(*all, "while_pullback"), 0) << row.name;
  }
}

TEST(WhileLoop, ReverseModeOfItsForwardModeIsRefused) {
  const auto slope = [](const Values& v) {
    return Values{moved([](const Values& x) { return Values{powers(kOpen, x[0], x[1])}; })(v)[1]};
  };
  EXPECT_THAT(error_without_lines<ShapeError>([&] {
                trace([&](const Values& v) { return value_and_grad(slope, v).second; },
                      std::vector<Type>(4, Type{DType::kF32, {}}));
              }),
              ::testing::HasSubstr("while: expected a loop with a known number of iterations"));
}

TEST(WhileLoop, SaysWhatDoesNotFit) {
  const auto error = [](const WhileCondition& condition, const WhileBody& body) {
    return error_without_lines<ShapeError>([&] {
      trace([&](const Values& v) { return while_loop(condition, body, v); }, {{DType::kF32, {}}});
    });
  };
  EXPECT_THAT(error([](const Values& c) { return c[0]; }, [](const Values& c) { return c; }),
              ::testing::StartsWith("the top level: while: expected a pred scalar as condition"));
  EXPECT_THAT(
      error([](const Values& c) { return c[0] < 1; },
            [](const Values& c) { return Values{astype(c[0], DType::kBF16)}; }),
      ::testing::StartsWith("the top level: while: expected a body that keeps the types of its "
                            "carry, got others; '0': f32[] became bf16[] of the top level"));
}

TEST(BoundedWhile, ResultsAreThoseOfTheLoopAndHaveGradients) {
  const auto bounded = [](const Values& v) {
    const Tensor limit = v[1];
    return bounded_while([&](const Values& c) { return c[0] <= limit; },
                         [](const Values& c) { return Values{c[0] * 2 + sin(c[0])}; }, {v[0]}, 8);
  };
  const auto open = [](const Values& v) {
    const Tensor limit = v[1];
    return while_loop([&](const Values& c) { return c[0] <= limit; },
                      [](const Values& c) { return Values{c[0] * 2 + sin(c[0])}; }, {v[0]});
  };
  const std::vector<HostTensor> x = {HostTensor::scalar(3.f), HostTensor::scalar(20.f)};
  EXPECT_EQ(eval(bounded, x)[0], eval(open, x)[0]);
  testing::check_gradients(bounded, x);
}

// The next step of an example that has stopped at 0 has an infinite derivative.
TEST(BoundedWhile, UnderVmapStepsBeyondTheEndGiveNoGradient) {
  const auto fn = [](const Values& v) {
    const auto example = [](const Values& x) {
      return bounded_while([](const Values& c) { return c[0] > 0.5; },
                           [](const Values& c) { return Values{sqrt(c[0]) - 1}; }, x, 3);
    };
    return value_and_grad([&](const Values& x) { return Values{sum(vmap(example, x)[0])}; }, v)
        .second;
  };
  EXPECT_EQ(eval(fn, {HostTensor({3}, {0.f, 1.f, 4.f})})[0], HostTensor({3}, {1.f, 0.5f, 0.125f}));
}

TEST(BoundedWhile, StopsAtTheBound) {
  const auto fn = [](const Values& v) {
    return bounded_while([](const Values& c) { return c[0] >= 0; },
                         [](const Values& c) { return Values{c[0] + 1}; }, v, 5);
  };
  EXPECT_EQ(eval(fn, {HostTensor::scalar(0.f)})[0].at(0), 5);
}

TEST(ForiLoop, PassesTheIndex) {
  const auto fixed = [](const Values& v) {
    return fori_loop(
        2, 5,
        [](const Tensor& i, const Values& c) { return Values{c[0] * astype(i, c[0].dtype())}; }, v);
  };
  const auto computed = [](const Values& v) {
    return fori_loop(
        scalar(2, DType::kI32), v[1],
        [](const Tensor& i, const Values& c) { return Values{c[0] * astype(i, c[0].dtype())}; },
        {v[0]});
  };
  EXPECT_EQ(eval(fixed, {HostTensor::scalar(1.f)})[0].at(0), 24);
  EXPECT_EQ(eval(computed, {HostTensor::scalar(1.f), HostTensor::scalar(5)})[0].at(0), 24);
  EXPECT_EQ(eval(computed, {HostTensor::scalar(1.f), HostTensor::scalar(1)})[0].at(0), 1);
  testing::check_gradients(fixed, {HostTensor::scalar(1.5f)});
}

}  // namespace
}  // namespace axle
