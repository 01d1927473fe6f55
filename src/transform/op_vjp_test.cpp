// Properties of gradients that finite differences do not test: dtypes, transposes, sums of many
// terms.
#include <gtest/gtest.h>

#include "ir/op_rules.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/products/products.h"
#include "ops/reductions/reductions.h"
#include "transform/grad.h"
#include "transform/trace.h"

namespace axle {
namespace {

std::vector<const OpNode*> ops_named(const Region& region, std::string_view name) {
  std::vector<const OpNode*> out;
  for (const OpNode* op : region.ops()) {
    if (op->rules->name() == name) out.push_back(op);
  }
  return out;
}

TensorFunction gradient_of_sum(const TensorFunction& fn) {
  return [fn](const Values& x) {
    return value_and_grad(
               [&](const Values& v) { return Values{sum(astype(fn(v)[0], DType::kF32))}; }, x)
        .second;
  };
}

TEST(DotVjp, BackwardProductsOf16BitOperandsAre16Bit) {
  const auto region = trace(gradient_of_sum([](const Values& v) {
                              return Values{dot(v[0], v[1], {.result_dtype = DType::kF32})};
                            }),
                            {{DType::kBF16, {4, 3}}, {DType::kBF16, {3, 2}}});
  const auto dots = ops_named(*region, "dot_general");
  ASSERT_EQ(dots.size(), 2);  // the gradient of the sum does not need the forward product
  for (const OpNode* op : dots) {
    EXPECT_EQ(op->inputs[0].dtype(), DType::kBF16);
    EXPECT_EQ(op->outputs[0].dtype, DType::kF32);
  }
  for (const Tensor& g : region->results()) EXPECT_EQ(g.dtype(), DType::kBF16);
}

TEST(DotVjp, AProjectionNeedsNoTranspose) {
  const auto region =
      trace(gradient_of_sum([](const Values& v) { return Values{dot(v[0], v[1])}; }),
            {{DType::kF32, {2, 4, 3}}, {DType::kF32, {3, 5}}});
  EXPECT_TRUE(ops_named(*region, "transpose").empty());
}

// A sum of 1000 ones in bf16 would stop at 256.
TEST(GatherVjp, SumsInF32) {
  const HostTensor weight = HostTensor::ones({2, 1}, DType::kBF16),
                   ids = HostTensor::zeros({1000}, DType::kI32);
  const auto gradients = eval(
      [&](const Values& v) {
        return Values{gradient_of_sum(
            [ids = v[1]](const Values& w) { return Values{take(w[0], ids)}; })({v[0]})[0]};
      },
      {weight, ids});
  EXPECT_EQ(gradients[0].dtype(), DType::kBF16);
  EXPECT_EQ(gradients[0].at(0), 1000);
  EXPECT_EQ(gradients[0].at(1), 0);
}

}  // namespace
}  // namespace axle
