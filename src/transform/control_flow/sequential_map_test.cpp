#include <gmock/gmock.h>

#include "ops/elementwise/elementwise.h"
#include "ops/products/products.h"
#include "ops/reductions/reductions.h"
#include "testing/error_without_lines.h"
#include "testing/gradient_check.h"
#include "testing/host_tensors.h"
#include "testing/op_test.h"
#include "transform/control_flow/control_flow.h"
#include "transform/vmap.h"

namespace axle {
namespace {

using ::testing::StartsWith;

Values row_product(const Values& x) { return {dot(x[0], x[1]), sin(reduce_sum(x[0], {0}))}; }

std::vector<HostTensor> rows(int64_t n) {
  return {testing::random_tensor({DType::kF64, {n, 3}}, 1),
          testing::random_tensor({DType::kF64, {n, 3, 2}}, 2)};
}

TensorFunction mapped(int64_t batch_size) {
  return
      [=](const Values& x) { return sequential_map(row_product, x, {.batch_size = batch_size}); };
}

TEST(SequentialMap, ResultsAreThoseOfVmap) {
  for (const int64_t length : {0, 1, 4, 7}) {
    const auto x = rows(length);
    const auto expected = eval([](const Values& v) { return vmap(row_product, v); }, x);
    for (const int64_t batch_size : {1, 2, 3, 10}) {
      const auto got = eval(mapped(batch_size), x);
      ASSERT_EQ(got.size(), 2u);
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(got[i].type(), expected[i].type());
        EXPECT_LT(testing::largest_difference(got[i], expected[i]), 1e-14)
            << length << " rows in batches of " << batch_size;
      }
    }
  }
}

TEST(SequentialMap, HasGradients) {
  for (const int64_t batch_size : {1, 2}) {
    testing::check_gradients(
        [=](const Values& x) {
          const Values y = mapped(batch_size)(x);
          return Values{reduce_sum(y[0] * y[0], {0, 1}) + reduce_sum(y[1], {0})};
        },
        rows(5));
  }
}

TEST(SequentialMap, ComputesOneBatchAtATime) {
  const auto region = trace(mapped(2), {{DType::kF32, {6, 3}}, {DType::kF32, {6, 3, 2}}});
  int64_t scans = 0;
  for (const OpNode* op : region->ops()) {
    if (op->rules->name() != "scan") continue;
    ++scans;
    for (const OpNode* inner : op->region().ops()) {
      for (const Type& t : inner->outputs) EXPECT_LE(t.num_elements(), 2 * 3 * 2);
    }
  }
  EXPECT_EQ(scans, 1);
}

TEST(SequentialMap, RefusesWhatItCannotSlice) {
  const auto error = [](const TensorFunction& fn, const std::vector<Type>& types) {
    return error_without_lines<ShapeError>([&] { trace(fn, types); });
  };
  EXPECT_THAT(error([](const Values&) { return sequential_map(row_product, {}); }, {}),
              StartsWith("the top level: sequential_map: expected at least one tensor, got none"));
  EXPECT_THAT(
      error(mapped(1), {{DType::kF32, {6, 3}}, {DType::kF32, {5, 3, 2}}}),
      StartsWith("the top level: sequential_map: expected the same dim 0 of all tensors, got 6 "
                 "and 5; operands: f32[6, 3] of the top level (parameter), f32[5, 3, 2]"));
  EXPECT_THAT(error(mapped(1), {{DType::kF32, {6, 3}}, {DType::kF32, {}}}),
              StartsWith("the top level: sequential_map: expected a dim 0, got a scalar"));
  EXPECT_THAT(
      error(mapped(0), {{DType::kF32, {6, 3}}, {DType::kF32, {6, 3, 2}}}),
      StartsWith("the top level: sequential_map: expected a batch_size of at least 1, got 0; "
                 "operands: "));
}

}  // namespace
}  // namespace axle
