// ragged_map computes what vmap computes with a copy of each group's values for each of its rows.
#include "transform/ragged_map.h"

#include <gmock/gmock.h>

#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/products/products.h"
#include "ops/reductions/reductions.h"
#include "testing/error_without_lines.h"
#include "testing/gradient_check.h"
#include "transform/call.h"
#include "transform/control_flow/control_flow.h"
#include "transform/remat/remat.h"
#include "transform/vmap.h"

namespace axle {
namespace {

using testing::normal_values;

const HostTensor kSizes({4}, {2, 0, 3, 1});
const HostTensor kGroupOfRow({6}, {0, 0, 2, 2, 2, 3});

// Returns results and gradients of `fn`, for two rows and two group values.
std::vector<HostTensor> with_gradients(const TensorFunction& fn,
                                       const std::vector<HostTensor>& arguments) {
  std::vector<HostTensor> y = eval(fn, arguments), cotangents;
  for (size_t i = 0; i < y.size(); ++i)
    cotangents.push_back(testing::random_tensor(y[i].type(), 30 + i, 1).astype(y[i].dtype()));
  for (HostTensor& g : eval(testing::gradient_function(fn, cotangents), arguments))
    y.push_back(std::move(g));
  return y;
}

// Expects that `fn`, of one row and two values of its group, gives the same either way.
void check(const TensorFunction& fn, const std::vector<HostTensor>& arguments) {
  const auto ragged = [&](const Values& x) {
    return ragged_map(fn, {x[0]}, {x[1], x[2]}, constant(kSizes));
  };
  const auto copied = [&](const Values& x) {
    const Tensor group = constant(kGroupOfRow);
    return vmap(fn, {x[0], take(x[1], group), take(x[2], group)});
  };
  const auto actual = with_gradients(ragged, arguments),
             expected = with_gradients(copied, arguments);
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_EQ(actual[i].type(), expected[i].type()) << i;
    EXPECT_LE(testing::relative_difference(actual[i], expected[i]), 1e-5) << i;
  }
}

std::vector<HostTensor> vectors_and_matrices() {
  return {normal_values({6, 3}, 1), normal_values({4, 3, 5}, 2), normal_values({4, 5}, 3)};
}

TEST(RaggedMap, ProductAndBias) {
  check([](const Values& v) { return Values{tanh(dot(v[0], v[1]) + v[2])}; },
        vectors_and_matrices());
}

TEST(RaggedMap, ProductsOfProducts) {
  check([](const Values& v) { return Values{dot(dot(v[0], v[1]), v[2])}; },
        {normal_values({6, 3}, 1), normal_values({4, 3, 5}, 2), normal_values({4, 5, 2}, 3)});
}

// What a group's values make of each other is computed once for each group.
TEST(RaggedMap, ValuesOfGroupsTogether) {
  check([](const Values& v) { return Values{dot(v[0], dot(v[1], v[2]))}; },
        {normal_values({6, 3}, 1), normal_values({4, 3, 2}, 2), normal_values({4, 2, 5}, 3)});
}

TEST(RaggedMap, ProductsOfAnyDims) {
  const std::vector<HostTensor> arguments = {
      normal_values({6, 2, 3, 4}, 1), normal_values({4, 4, 2, 5, 3}, 2), normal_values({4, 3}, 3)};
  for (const char* spec : {"bij,jbkm->bikm", "bij,jbki->bk", "bij,jbki->bjk"}) {
    SCOPED_TRACE(spec);
    check([&](const Values& v) { return Values{einsum(spec, v[0], v[1]), v[2]}; }, arguments);
  }
  check(
      [](const Values& v) {
        return Values{einsum("jbki,bij->kb", v[1], v[0]), v[2]};
      },
      arguments);
}

TEST(RaggedMap, BodiesOfCallAndRemat) {
  check(
      [](const Values& v) {
        const Tensor y =
            call("f", [](const Values& w) { return Values{dot(w[0], w[1])}; }, {v[0], v[1]})[0];
        return remat([](const Values& w) { return Values{tanh(w[0] + w[1])}; }, {y, v[2]},
                     save_nothing());
      },
      vectors_and_matrices());
}

TEST(RaggedMap, OuterValuesAndResultsThatAreTheSameForAllRows) {
  const auto fn = [](const Values& x) {
    const Tensor outer = x[3] * 2;
    return ragged_map(
        [&](const Values& v) {
          return Values{dot(v[0], v[1]) * outer, outer, v[2]};
        },
        {x[0]}, {x[1], x[2]}, constant(kSizes));
  };
  std::vector<HostTensor> arguments = vectors_and_matrices();
  arguments.push_back(normal_values({5}, 4));
  const auto y = eval(fn, arguments);
  EXPECT_EQ(y[1].shape(), (Shape{6, 5}));
  EXPECT_EQ(y[1].at(7), 2 * arguments[3].at(2));
  EXPECT_EQ(y[2].at(2 * 5), arguments[2].at(2 * 5)) << "row 2 is the first of group 2";
  testing::check_gradients(fn, arguments);
}

TEST(RaggedMap, EachMatrixIsReadOnce) {
  const auto region = trace(
      [](const Values& x) {
        return ragged_map([](const Values& v) { return Values{dot(v[0], v[1])}; }, {x[0]}, {x[1]},
                          x[2]);
      },
      {{DType::kF32, {6, 3}}, {DType::kF32, {4, 3, 5}}, {DType::kI32, {4}}});
  for (const OpNode* op : region->ops()) EXPECT_NE(op->rules->name(), "gather");
}

std::string error(const TensorFunction& fn, const std::vector<Type>& types) {
  return error_without_lines<ShapeError>(
      [&] { trace([&](const Values& x) { return ragged_map(fn, {x[0]}, {x[1]}, x[2]); }, types); });
}

TEST(RaggedMap, BadInput) {
  const auto product = [](const Values& v) { return Values{dot(v[0], v[1])}; };
  const Type rows{DType::kF32, {6, 3}}, matrices{DType::kF32, {4, 3, 3}}, sizes{DType::kI32, {4}};
  EXPECT_THAT(error(product, {rows, {DType::kF32, {5, 3, 3}}, sizes}),
              ::testing::HasSubstr("expected values of groups with a dim 0 of 4"));
  EXPECT_THAT(error(product, {rows, matrices, {DType::kI32, {4, 1}}}),
              ::testing::HasSubstr("expected group sizes i32[groups]"));
  const auto loop = [](const Values& v) {
    return scan([&](const Values& carry,
                    const Values&) { return ScanResult{.carry = {dot(carry[0], v[1])}, .ys = {}}; },
                {v[0]}, {}, 2)
        .carry;
  };
  EXPECT_THAT(
      error(loop, {rows, matrices, sizes}),
      ::testing::HasSubstr("expected an op without a body on rows and values of their group, "
                           "got scan"));
}

}  // namespace
}  // namespace axle
