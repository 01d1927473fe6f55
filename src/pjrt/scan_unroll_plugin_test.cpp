// Law: how many iterations of a scan share the body of the lowered loop does not change its
// results. A compiler that contracts multiplications and additions differently in each form may
// change their last bits.
#include <gtest/gtest.h>

#include "ops/elementwise/elementwise.h"
#include "ops/reductions/reductions.h"
#include "testing/host_tensors.h"
#include "testing/op_samples.h"
#include "testing/plugin_fixture.h"
#include "transform/control_flow/control_flow.h"
#include "transform/grad.h"

namespace axle {
namespace {

using ScanUnroll = PluginTest;

TEST_F(ScanUnroll, DoesNotChangeResultsAndGradients) {
  constexpr int64_t kLength = 7;
  const std::vector<HostTensor> inputs = {testing::samples::uniform({4}, -1, 1, 1),
                                          testing::samples::uniform({kLength, 4}, -1, 1, 2),
                                          testing::samples::uniform({4}, -1, 1, 3)};
  const auto results = [&](bool reverse, int64_t unroll) {
    const TensorFunction loss = [&](const Values& x) {
      const ScanResult r = scan(
          [&](const Values& c, const Values& xs) {
            const Tensor next = tanh(c[0] * x[2] + xs[0]);
            return ScanResult{{next}, {next * xs[0]}};
          },
          {x[0]}, {x[1]}, kLength, {.reverse = reverse, .unroll = unroll});
      return Values{sum(r.carry[0]) + sum(r.ys[0] * r.ys[0]), r.ys[0]};
    };
    return run(
        [&](const Values& x) {
          auto [values, gradients] = value_and_grad(loss, x);
          values.insert(values.end(), gradients.begin(), gradients.end());
          return values;
        },
        inputs);
  };
  for (const bool reverse : {false, true}) {
    const auto expected = results(reverse, 1);
    for (const int64_t unroll : {2, 3, 7, 8}) {
      SCOPED_TRACE(unroll);
      const auto got = results(reverse, unroll);
      ASSERT_EQ(got.size(), expected.size());
      for (size_t i = 0; i < got.size(); ++i)
        EXPECT_LT(testing::relative_difference(got[i], expected[i]), 1e-6) << "result " << i;
    }
  }
}

}  // namespace
}  // namespace axle
