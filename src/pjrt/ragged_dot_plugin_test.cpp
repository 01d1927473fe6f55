// ragged_dot is lowered to a loop over tiles of rows: the plugin computes what the interpreter
// computes, whatever part of the tiles the groups fill.
#include <gmock/gmock.h>

#include "ops/products/products.h"
#include "testing/op_samples.h"
#include "testing/plugin_fixture.h"
#include "transform/grad.h"

namespace axle {
namespace {

using testing::samples::uniform;

class RaggedDotExecution : public PluginTest {};

// Returns the product and its gradients.
Values with_gradients(const Values& x) {
  const Linearized f = vjp(
      [](const Values& v) {
        return Values{ragged_dot(v[0], v[1], v[2], {.result_dtype = DType::kF32})};
      },
      x);
  const Tensor& y = f.outputs[0];
  const Values g = f.pullback({y * y});
  return {y, g[0], g[1]};
}

TEST_F(RaggedDotExecution, GroupsOfAnySize) {
  const HostTensor matrices = uniform({5, 8, 6}, -1, 1, 2);
  for (const int32_t m : {1, 64, 700}) {
    SCOPED_TRACE(m);
    // One list of sizes in each row. The last one counts more rows than there are.
    const HostTensor sizes({5, 5}, {m,         0, 0,          0, 0,      //
                                    0,         0, 0,          0, m,      //
                                    0,         0, 0,          0, 0,      //
                                    m * 3 / 8, 0, m * 7 / 16, 1, m / 9,  //
                                    m * 5 / 8, m, m,          m, m});
    expect_same(with_gradients, {uniform({5, m, 8}), matrices, sizes}, 1e-5);
  }
}

TEST_F(RaggedDotExecution, BatchedBf16AndSingleListMatchTheInterpreter) {
  const HostTensor rows = uniform({3, 50, 8}).astype(DType::kBF16),
                   own = uniform({3, 2, 8, 6}, -1, 1, 3).astype(DType::kBF16);
  expect_same(with_gradients, {rows, own, HostTensor({3, 2}, {20, 30, 0, 50, 13, 11})}, 1e-5);
  expect_same(with_gradients,
              {uniform({300, 8}), uniform({2, 8, 6}, -1, 1, 3), HostTensor({2}, {131, 160})}, 1e-5);
}

TEST_F(RaggedDotExecution, InfinitiesStayInTheirGroup) {
  HostTensor rows = uniform({20, 3});
  std::ranges::fill(rows.values<float>().first(15), std::numeric_limits<float>::infinity());
  const auto fn = [](const Values& v) {
    const Tensor products = ragged_dot_contracting(v[0], v[0], v[1]);
    return Values{products, ragged_dot(v[0], products, v[1])};
  };
  const HostTensor sizes({2}, {5, 12});
  const auto y = run(fn, {rows, sizes});
  for (int64_t i = 0; i < 9; ++i) EXPECT_TRUE(std::isinf(y[0].at(i)));
  for (int64_t i = 9; i < 18; ++i) EXPECT_TRUE(std::isfinite(y[0].at(i)));
  expect_same(fn, {rows, sizes}, 1e-5);
}

TEST_F(RaggedDotExecution, EmptyOperandsMatchTheInterpreter) {
  const auto fn = [](const Values& v) {
    return Values{ragged_dot(v[0], v[1], v[2]), ragged_dot_contracting(v[0], v[0], v[2])};
  };
  const auto zeros = [](const Shape& shape) { return HostTensor::zeros(shape); };
  expect_same(fn, {zeros({0, 4}), zeros({3, 4, 5}), HostTensor({3}, {0, 0, 0})}, 0);
  expect_same(fn, {zeros({6, 4}), zeros({0, 4, 5}), HostTensor::zeros({0}, DType::kI32)}, 0);
}

}  // namespace
}  // namespace axle
