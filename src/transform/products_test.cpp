// Derivatives and batches of products that no law over the registry tests.
#include "ops/products/products.h"

#include <gmock/gmock.h>

#include "ir/text/text_form.h"
#include "ops/reductions/reductions.h"
#include "testing/op_samples.h"
#include "testing/op_test.h"
#include "transform/grad.h"
#include "transform/trace.h"
#include "transform/vmap.h"

namespace axle {
namespace {

using testing::elements;
using testing::samples::uniform;

// Numbers of jax.vjp(jnp.dot, a, b), which multiplies cotangents without conjugation.
TEST(DotVjp, ComplexNumbersHaveTheKnownGradients) {
  using C = std::complex<float>;
  const HostTensor a({2, 2}, {C(1, 2), C(0, -0.5), C(3, 0), C(1, -1)}),
      b({2, 3}, {C(0.5, 1), C(2, 0), C(0, -1), C(0, 1), C(-1, 0.5), C(1.5, 0)}),
      ct({2, 3}, {C(1, 0), C(0, 1), C(0, 0), C(2, -1), C(0, 0), C(1, 0)});
  const auto y = testing::run_all(
      [](const Values& v) {
        const Linearized f =
            vjp([](const Values& x) { return Values{dot(x[0], x[1])}; }, {v[0], v[1]});
        const Values g = f.pullback({v[2]});
        return Values{f.outputs[0], g[0], g[1]};
      },
      {a, b, ct});
  EXPECT_EQ(y[0], HostTensor({2, 3}, {C(-1, 2), C(2.25, 4.5), C(2, -1.75), C(2.5, 4), C(5.5, 1.5),
                                      C(1.5, -4.5)}));
  EXPECT_EQ(y[1], HostTensor({2, 2}, {C(0.5, 3), C(-0.5, 0), C(2, 0.5), C(2.5, 2)}));
  EXPECT_EQ(y[2],
            HostTensor({2, 3}, {C(7, -1), C(-2, 1), C(3, 0), C(1, -3.5), C(0.5, 0), C(1, -1)}));
}

// Numbers of jax.vjp of lax.dot_general with preferred_element_type f32.
TEST(DotVjp, Two8BitFloatsHaveTheKnownGradients) {
  const HostTensor a = HostTensor({2, 2}, {448.f, 2.f, -1.5f, 0.25f}).astype(DType::kF8E4M3FN),
                   b = HostTensor({2, 2}, {0.5f, 3.f, -24.f, 1.75f}).astype(DType::kF8E5M2);
  const auto y = testing::run_all(
      [](const Values& v) {
        const auto product = [](const Values& x) {
          return Values{
              dot(x[0], x[1],
                  {.result_dtype = DType::kF32, .algorithm = DotAlgorithm::kAnyF8AnyF8F32})};
        };
        const Linearized f = vjp(product, {v[0], v[1]});
        const Values g = f.pullback({v[2]});
        return Values{f.outputs[0], g[0], g[1]};
      },
      {a, b, HostTensor({2, 2}, {1.f, 0.1f, 0.01f, 2.f})});
  EXPECT_EQ(y[0], HostTensor({2, 2}, {176.f, 1347.5f, -6.75f, -4.0625f}));
  EXPECT_EQ(y[1].dtype(), DType::kF8E4M3FN);
  EXPECT_THAT(elements(y[1]), ::testing::ElementsAre(0.8125, -24, 6, 3.25));
  EXPECT_EQ(y[2].dtype(), DType::kF8E5M2);
  EXPECT_THAT(elements(y[2]), ::testing::ElementsAre(448, 40, 2, 0.75));
}

TEST(DotVjp, KeepsTheAlgorithm) {
  const auto region = trace(
      [](const Values& v) {
        const DotOptions options{.algorithm = DotAlgorithm::kTF32TF32F32};
        return value_and_grad(
                   [&](const Values& x) { return Values{sum(dot(x[0], x[1], options))}; }, v)
            .second;
      },
      {{DType::kF32, {2, 3}}, {DType::kF32, {3, 4}}});
  region->remove_dead_ops();
  for (const OpNode* op : region->ops()) {
    if (op->rules->name() != "dot_general") continue;
    EXPECT_THAT(op->attributes->text(), ::testing::HasSubstr("algorithm = TF32_TF32_F32"));
  }
  EXPECT_GE(count_ops(*region, "dot_general"), 2);
}

TEST(RaggedDotVmap, ABatchMayShareTheMatrices) {
  const HostTensor rows = uniform({2, 5, 4}), shared = uniform({3, 4, 2}, -1, 1, 2),
                   own = uniform({2, 3, 4, 2}, -1, 1, 3), sizes({2, 3}, {1, 0, 3, 2, 2, 1});
  for (const HostTensor& matrices : {shared, own}) {
    const std::vector<HostTensor> x = {rows, matrices, sizes};
    const auto together =
        eval([](const Values& v) { return Values{ragged_dot(v[0], v[1], v[2])}; }, x);
    const auto mapped = eval(
        [](const Values& v) {
          const std::optional<int64_t> axis =
              v[1].rank() == 4 ? std::optional<int64_t>(0) : std::nullopt;
          return vmap([](const Values& a) { return Values{ragged_dot(a[0], a[1], a[2])}; }, v,
                      {.in_axes = {0, axis, 0}});
        },
        x);
    EXPECT_EQ(together[0], mapped[0]);
  }
}

TEST(RaggedDotVmap, DoesNotCopySharedMatrices) {
  const auto region = trace(
      [](const Values& v) {
        return vmap([](const Values& a) { return Values{ragged_dot(a[0], a[1], a[2])}; }, v,
                    {.in_axes = {0, std::nullopt, 0}});
      },
      {{DType::kF32, {2, 5, 4}}, {DType::kF32, {3, 4, 2}}, {DType::kI32, {2, 3}}});
  EXPECT_EQ(count_ops(*region, "ragged_dot"), 1);
  EXPECT_EQ(count_ops(*region, "broadcast_in_dim"), 0);
}

}  // namespace
}  // namespace axle
