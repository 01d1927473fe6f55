#include <gmock/gmock.h>

#include "ir/text/text_form.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/products/products.h"
#include "ops/reductions/reductions.h"
#include "testing/error_without_lines.h"
#include "testing/gradient_check.h"
#include "transform/control_flow/control_flow.h"
#include "transform/partition.h"
#include "transform/remat/remat.h"

namespace axle {
namespace {

using testing::check_gradients;
using testing::random_tensor;

constexpr int64_t kLayers = 3;

std::vector<HostTensor> arguments() {
  std::vector<HostTensor> x;
  for (const Shape& s : {Shape{2, 3}, Shape{kLayers, 3, 3}, Shape{kLayers, 3, 3}})
    x.push_back(random_tensor({DType::kF64, s}, x.size()).astype(DType::kF32));
  return x;
}

// A layer of two products, with names for remat policies.
Tensor layer(const Tensor& x, const Tensor& w1, const Tensor& w2) {
  const Tensor q = name(dot(x, w1), "q_proj");
  const Tensor h = tanh(q) * sin(q);
  return x + name(dot(h, w2), "o_proj");
}

TensorFunction looped(std::optional<RematPolicy> policy) {
  return [policy](const Values& a) {
    const ScanResult r = scan(
        [&](const Values& c, const Values& w) {
          if (!policy) return ScanResult{{layer(c[0], w[0], w[1])}, {}};
          return ScanResult{remat([&](const Values& p) { return Values{layer(p[0], p[1], p[2])}; },
                                  {c[0], w[0], w[1]}, *policy, false),
                            {}};
        },
        {a[0]}, {a[1], a[2]}, kLayers);
    return Values{reduce_sum(r.carry[0] * r.carry[0], {0, 1})};
  };
}

Values unrolled(const Values& a) {
  Tensor x = a[0];
  for (int64_t i = 0; i < kLayers; ++i) {
    const auto at = [&](const Tensor& w) { return reshape(slice_in_dim(w, 0, i, i + 1), {3, 3}); };
    x = layer(x, at(a[1]), at(a[2]));
  }
  return {reduce_sum(x * x, {0, 1})};
}

TensorFunction gradients_of(TensorFunction fn) {
  return [fn = std::move(fn)](const Values& a) {
    auto [outputs, gradients] = value_and_grad(fn, a);
    outputs.insert(outputs.end(), gradients.begin(), gradients.end());
    return outputs;
  };
}

// Counts of dot_general ops and stacked residuals in the forward and the backward loop.
struct Structure {
  int64_t forward_dots, stacked, backward_dots;
};
// Returns the counts of the two loops of the differentiated function.
Structure structure(const TensorFunction& fn) {
  std::vector<Type> types;
  for (const HostTensor& t : arguments()) types.push_back(t.type());
  const auto region = trace(gradients_of(fn), types);
  std::vector<const OpNode*> scans;
  for (const OpNode* op : region->ops()) {
    if (op->rules->name() == "scan") scans.push_back(op);
  }
  EXPECT_EQ(scans.size(), 2u) << print(*region);
  if (scans.size() != 2) return {};
  return {count_ops(scans[0]->region(), "dot_general"),
          static_cast<int64_t>(scans[0]->outputs.size()) - 1,
          count_ops(scans[1]->region(), "dot_general")};
}

TEST(Scan, EqualsTheUnrolledLoopBitwise) {
  EXPECT_EQ(eval(gradients_of(looped({})), arguments()), eval(gradients_of(unrolled), arguments()));
}

TEST(Scan, GradientsOfOrderOneAndTwo) {
  check_gradients(looped({}), arguments());
  check_gradients(looped(save_nothing()), arguments());
  check_gradients(looped(save_names({"q_proj"})), arguments());
}

TEST(Scan, RematIsBitwiseThePlainLoop) {
  for (const RematPolicy& policy : {save_nothing(), save_names({"q_*"}), save_dots()}) {
    EXPECT_EQ(eval(gradients_of(looped(policy)), arguments()),
              eval(gradients_of(looped({})), arguments()))
        << policy.text;
  }
}

TEST(Scan, KeepsWhatThePolicySays) {
  const auto expect = [](const TensorFunction& fn, Structure want) {
    const Structure got = structure(fn);
    EXPECT_EQ(got.forward_dots, want.forward_dots);
    EXPECT_EQ(got.stacked, want.stacked);
    EXPECT_EQ(got.backward_dots, want.backward_dots);
  };
  expect(looped(save_nothing()), {2, 1, 5});  // keeps the carry only; recomputes one product
  expect(looped(save_names({"q_proj"})), {2, 2, 4});  // keeps the carry and q
  expect(looped(save_dots()), {2, 2, 4});             // does not keep o, which is not needed
  const Structure plain = structure(looped({}));
  EXPECT_EQ(plain.forward_dots, 2);
  EXPECT_LE(plain.stacked, 5);
  EXPECT_EQ(plain.backward_dots, 4);
}

TEST(Scan, ConstsYsAndInvariants) {
  const TensorFunction fn = [](const Values& a) {
    const ScanResult r = scan(
        [&](const Values& c, const Values& x) {
          const Tensor h = tanh(dot(c[0], exp(a[1])) + x[0]);
          return ScanResult{{h}, {sin(h * x[0])}};
        },
        {a[0]}, {a[2]}, kLayers);
    return Values{sum(r.carry[0]) + sum(r.ys[0])};
  };
  const std::vector<HostTensor> x{random_tensor({DType::kF64, {2, 3}}, 1),
                                  random_tensor({DType::kF64, {3, 3}}, 2),
                                  random_tensor({DType::kF64, {kLayers, 2, 3}}, 3)};
  check_gradients(fn, x);
}

TEST(Scan, AReverseScanBeginsAtTheEnd) {
  const auto run = [](bool reverse) {
    return eval(
        [&](const Values& a) {
          const ScanResult r = scan(
              [](const Values& c, const Values& x) {
                return ScanResult{{c[0] * 0.5 + x[0]}, {c[0]}};
              },
              {a[0]}, {a[1]}, 3, {.reverse = reverse});
          return Values{r.carry[0], r.ys[0]};
        },
        {HostTensor::scalar(1.0f), HostTensor({3}, {1.0f, 2.0f, 4.0f})});
  };
  EXPECT_EQ(run(false)[0], HostTensor::scalar(5.375f));
  EXPECT_EQ(run(true)[0], HostTensor::scalar(3.125f));
  EXPECT_EQ(run(true)[1], HostTensor({3}, {4.25f, 4.5f, 1.0f}));
}

TEST(Scan, NestedInRematSplitsInside) {
  const TensorFunction fn = [](const Values& a) {
    const Values r = remat(
        [&](const Values& b) {
          return scan(
                     [&](const Values& c, const Values& w) {
                       return ScanResult{
                           remat([&](const Values& p) { return Values{layer(p[0], p[1], p[2])}; },
                                 {c[0], w[0], w[1]}, save_names({"q_proj"}), false),
                           {}};
                     },
                     {b[0]}, {b[1], b[2]}, kLayers)
              .carry;
        },
        {a[0], a[1], a[2]}, save_nothing());
    return Values{sum(r[0] * r[0])};
  };
  check_gradients(fn, arguments());
  EXPECT_EQ(eval(gradients_of(fn), arguments()), eval(gradients_of(looped({})), arguments()));
}

TEST(Scan, CarryMustKeepItsType) {
  const TensorFunction fn = [](const Values& a) {
    return scan(
               [](const Values& c, const Values&) {
                 return ScanResult{{reshape(c[0], {3, 2})}, {}};
               },
               {a[0]}, {}, 2)
        .carry;
  };
  EXPECT_THAT(error_without_lines<ShapeError>([&] {
                trace(fn, {{DType::kF32, {2, 3}}});
              }),
              ::testing::HasSubstr("'0': f32[2, 3] became f32[3, 2] of the top level"));
}

TEST(Trace, LeakedTensorIsAnError) {
  Tensor leaked;
  const auto region = trace(
      [&](const Values& a) {
        leaked = a[0] + 1.0;
        return Values{leaked};
      },
      {{DType::kF32, {2}}});
  const TensorFunction use = [&](const Values& a) { return Values{a[0] + leaked}; };
  EXPECT_THAT(error_without_lines<InternalError>([&] {
                trace(use, {{DType::kF32, {2}}});
              }),
              ::testing::HasSubstr("leaked out of the trace"));
}

// The next trace reuses the memory of a finished trace. A handle into the finished trace is still
// recognised.
TEST(Trace, TensorOfATraceThatIsOverIsAnError) {
  Tensor leaked;
  const auto leak = [&] {
    trace(
        [&](const Values& a) {
          leaked = a[0] + 1.0;
          return Values{leaked};
        },
        {{DType::kF32, {2}}});
  };
  leak();
  const std::string expected =
      "trace: a tensor leaked out of the trace that made it, got one of the top level (add), whose "
      "trace is over; return it from the traced function instead";
  EXPECT_EQ(error_without_lines<InternalError>([&] { leaked.shape(); }), expected);
  EXPECT_EQ(error_without_lines<InternalError>([&] { describe(leaked); }), expected);
  const std::vector<TensorFunction> uses{
      [&](const Values&) { return Values{leaked}; },
      [&](const Values& a) { return Values{a[0] + leaked}; },
      [&](const Values& a) { return Values{a[0] + a[0] + leaked}; },
      [&](const Values& a) {
        return scan(
                   [&](const Values& carry, const Values&) {
                     return ScanResult{.carry = {carry[0] * leaked}, .ys = {}};
                   },
                   {a[0]}, {}, 2)
            .carry;
      },
  };
  for (const TensorFunction& use : uses) {
    leak();
    EXPECT_EQ(error_without_lines<InternalError>([&] {
                trace(use, {{DType::kF32, {2}}});
              }),
              expected);
  }
}

// The body reads the carries, but replaces one by a number and passes no gradient on.
TEST(Scan, ACarryMayBeReplacedBySomethingThatIsNotDifferentiated) {
  const auto fn = [](const Values& v) {
    const auto step = [](const Values& c, const Values& w) {
      return ScanResult{{full_like(c[0], 1), sin(c[1]) * w[0]}, {c[0] * c[0] * c[1]}};
    };
    const ScanResult r = scan(step, {v[0], v[1]}, {v[2]}, 3);
    return Values{sum(r.ys[0]) + sum(r.carry[1])};
  };
  check_gradients(fn, {random_tensor({DType::kF64, {2}}, 1), random_tensor({DType::kF64, {2}}, 2),
                       random_tensor({DType::kF64, {3, 2}}, 3)});
}

TEST(Residuals, AreExplained) {
  const std::string text = explain_residuals(
      unrolled,
      {{DType::kF32, {2, 3}}, {DType::kF32, {kLayers, 3, 3}}, {DType::kF32, {kLayers, 3, 3}}});
  EXPECT_THAT(text, ::testing::HasSubstr("f32[2, 3] dot_general"));
  EXPECT_THAT(text, ::testing::HasSubstr("argument"));
}

// Only two of six columns of a product are used. Keeping all six would take three times the memory.
TEST(Residuals, HoldThePartThatIsUsedUnlessTheWholeIsKeptAnyway) {
  const auto used = [](bool whole_too) {
    return explain_residuals(
        [&](const Values& a) {
          const Tensor product = dot(a[0], a[1]);
          const Tensor part = reshape(slice_in_dim(product, 1, 0, 2), {4});
          Tensor out = sum(sin(part));
          if (whole_too) out = out + sum(cos(product));
          return Values{out};
        },
        {{DType::kF32, {2, 3}}, {DType::kF32, {3, 6}}});
  };
  EXPECT_THAT(used(false), ::testing::HasSubstr("f32[2, 2] slice"));
  EXPECT_THAT(used(false), ::testing::Not(::testing::HasSubstr("f32[2, 6]")));
  EXPECT_THAT(used(true), ::testing::HasSubstr("f32[2, 6] dot_general"));
  EXPECT_THAT(used(true), ::testing::Not(::testing::HasSubstr("slice")));
}

}  // namespace
}  // namespace axle
