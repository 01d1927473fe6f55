#include "runtime/memory_estimate.h"

#include <gtest/gtest.h>

#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/products/products.h"
#include "ops/reductions/reductions.h"
#include "transform/control_flow/control_flow.h"
#include "transform/grad.h"
#include "transform/trace.h"

namespace axle {
namespace {

constexpr int64_t kSide = 64;
constexpr double kOne = 4 * kSide * kSide;  // bytes of one value
const Type kSquare{DType::kF32, {kSide, kSide}};

template <class F>
double temporaries(F body, int donated_to = -1) {
  const Program program{
      .name = "program",
      .graph = trace([&](const Values& x) { return Values{body(x[0])}; }, {kSquare}),
      .inputs = {{.name = "x", .type = kSquare, .donated_to = donated_to}},
      .outputs = {{.name = "y", .type = kSquare}}};
  return estimate_memory(program).temporary_bytes;
}

Tensor chain(Tensor x, int64_t length) {
  for (int64_t i = 0; i < length; ++i) x = dot(x, x);
  return x;
}

TEST(MemoryEstimate, AValueIsFreedAfterItsLastUse) {
  EXPECT_EQ(temporaries([](const Tensor& x) { return chain(x, 10); }), 2 * kOne);
}

// A view is not stored: what it shows is, as long as the view is used.
TEST(MemoryEstimate, ViewKeepsItsOperandAlive) {
  for (const bool viewed : {false, true}) {
    EXPECT_EQ(temporaries([&](const Tensor& x) {
                const Tensor early = dot(x, x);
                const Tensor seen =
                    viewed ? reshape(reshape(early, {kSide * kSide}), {kSide, kSide}) : early;
                return dot(chain(x, 10), seen);
              }),
              3 * kOne)
        << viewed;
  }
}

// A branch that updates a donated argument writes over it.
TEST(MemoryEstimate, BranchUpdatesADonatedArgumentWithoutACopy) {
  const auto branch = [](const Tensor& x) {
    const TensorFunction update = [&](const Values&) { return Values{x + 1.0}; },
                         keep = [&](const Values&) { return Values{x}; };
    return switch_case(full({}, 0, DType::kI32), {update, keep}, {})[0];
  };
  EXPECT_EQ(temporaries(branch), kOne);
  EXPECT_EQ(temporaries(branch, /*donated_to=*/0), 0);
}

// What is computed element by element is stored where the backward pass reads it.
TEST(MemoryEstimate, TheBackwardPassKeepsWhatItReads) {
  const auto layers = [](int64_t length) {
    return temporaries([=](const Tensor& x) {
      const auto loss = [&](const Values& in) {
        Tensor y = in[0];
        for (int64_t i = 0; i < length; ++i) y = tanh(dot(y, x));
        return Values{sum(y)};
      };
      return value_and_grad(loss, {x}).second[0];
    });
  };
  EXPECT_NEAR(layers(9) - layers(5), 4 * kOne, 0.1 * kOne);
}

}  // namespace
}  // namespace axle
