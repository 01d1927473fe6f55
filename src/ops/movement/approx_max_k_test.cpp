#include "ops/movement/movement.h"
#include "testing/op_test.h"

namespace axle {
namespace {

using testing::run_all;

// jax.lax.approx_max_k(x, 3) on a CPU.
TEST(ApproxMaxK, FindsTheLargestAlongAnAxis) {
  const HostTensor x({1, 6}, {1.f, 3.f, 3.f, 2.f, 3.f, 0.f});
  const auto of_rows = run_all(
      [](const Values& v) {
        const auto [values, indices] = approx_max_k(v[0], 4);
        return Values{values, indices};
      },
      {x});
  EXPECT_EQ(of_rows[0], HostTensor({1, 4}, {3.f, 3.f, 3.f, 2.f}));
  EXPECT_EQ(of_rows[1], HostTensor({1, 4}, {1, 2, 4, 3}));
  const auto of_columns = run_all(
      [](const Values& v) {
        const auto [values, indices] = approx_max_k(v[0], 2, 0);
        return Values{values, indices};
      },
      {HostTensor({3, 2}, {1.f, 6.f, 5.f, 2.f, 3.f, 4.f})});
  EXPECT_EQ(of_columns[0], HostTensor({2, 2}, {5.f, 6.f, 3.f, 4.f}));
  EXPECT_EQ(of_columns[1], HostTensor({2, 2}, {1, 0, 2, 2}));
}

TEST(ApproxMaxK, IsExactWhateverTheTarget) {
  const HostTensor x = testing::counting({2, 5});
  const auto largest = [&](const ApproxMaxKOptions& options) {
    return run_all(
        [&](const Values& v) {
          const auto [values, indices] = approx_max_k(v[0], 2, -1, options);
          return Values{values, indices};
        },
        {x});
  };
  const auto expected = largest({});
  EXPECT_EQ(expected[0], HostTensor({2, 2}, {4.f, 3.f, 9.f, 8.f}));
  EXPECT_EQ(largest({.recall_target = 0.01}), expected);
  EXPECT_EQ(largest({.recall_target = 1}), expected);
  EXPECT_EQ(largest({.reduction_input_size_override = 5}), expected);
  EXPECT_EQ(largest({.reduction_input_size_override = 1000}), expected);
  EXPECT_EQ(largest({.aggregate_to_topk = false}), expected);
}

}  // namespace
}  // namespace axle
