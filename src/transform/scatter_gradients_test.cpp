#include <gmock/gmock.h>

#include "ops/create.h"
#include "ops/movement/movement.h"
#include "testing/gradient_check.h"
#include "testing/op_test.h"

namespace axle {
namespace {

using ::testing::ElementsAre;

// Products of updates at one place, some of which are zero, have exact derivatives of all orders.
TEST(ScatterGradients, ProductsHaveDerivativesAtZero) {
  const GatherDims places{.collapsed = {0}, .index_map = {0}, .index_vector_dim = 1};
  const auto product = [&](const Values& v) {
    return Values{scatter_mul(v[0], constant(HostTensor({5}, {0, 0, 1, 0, 7})), v[1], places)};
  };
  const auto gradient = testing::gradient_function(product, {HostTensor({2}, {1.0, 1.0})});
  const HostTensor x({2}, {2.0, 3.0});
  for (const std::vector<double>& updates : std::vector<std::vector<double>>{
           {0, 3, 0, 5, 4}, {0, 3, 2, 0, 0}, {0, 0, 0, 0, 0}, {1, 3, 2, 5, 4}}) {
    HostTensor u(Type{DType::kF64, {5}});
    std::ranges::copy(updates, u.values<double>().begin());
    testing::check_gradients(product, {x, u}, 2);
    testing::check_gradients(gradient, {x, u}, 2);  // the third order
  }
  // x * u0 * u1 * u3 by u0 = 0 and u1 = 3: x * u3.
  const auto by_first =
      testing::gradient_function([&](const Values& v) { return Values{gradient(v)[1]}; },
                                 {HostTensor({5}, {0.0, 1.0, 0.0, 0.0, 0.0})});
  const HostTensor u({5}, {0.0, 3.0, 0.0, 5.0, 4.0});
  EXPECT_THAT(testing::elements(eval(by_first, {x, u})[1]), ElementsAre(10, 0, 0, 0, 0));
}

}  // namespace
}  // namespace axle
