// Law: eight devices of a plugin compute in a shard_map what eight simulated ones compute.
#include <gmock/gmock.h>

#include "testing/collective_samples.h"
#include "testing/device_samples.h"
#include "testing/host_tensors.h"
#include "testing/plugin_fixture.h"
#include "transform/control_flow/control_flow.h"
#include "transform/grad.h"
#include "transform/remat/remat.h"

namespace axle {
namespace {

using testing::collectives;
using testing::CollectiveSample;
using testing::kMesh;
using testing::over;

class ShardMapExecution : public PluginTest {
 protected:
  ShardMapExecution() : PluginTest(kMesh) {}
};

Values gradient(const TensorFunction& fn, const Values& v) {
  const auto loss = [&](const Values& x) {
    const Tensor y = fn(x)[0];
    return Values{sum(y * y)};
  };
  return value_and_grad(loss, v).second;
}

TEST_F(ShardMapExecution, CollectivesMatchSimulatedDevices) {
  const HostTensor x = testing::normal_values({8, 4}, 1);
  for (const CollectiveSample& c : collectives()) {
    SCOPED_TRACE(c.name);
    expect_same(c.on_devices, {x}, 2e-6);
    expect_same([&](const Values& v) { return gradient(c.on_devices, v); }, {x}, 1e-5);
  }
}

TEST_F(ShardMapExecution, NestedBodiesMatchSimulatedDevices) {
  for (const testing::OpSample& sample : testing::device_samples()) {
    const auto& x = sample.inputs;
    expect_same(sample.fn, x, 2e-6);
    const auto gradients = [&](const Values& v) {
      return gradient([&](const Values& a) { return sample.fn({a[0], a[1], v[2]}); }, {v[0], v[1]});
    };
    expect_same(gradients, x, 1e-5);
    const std::vector<HostTensor> batch = {testing::samples::uniform({3, 4}, -1, 1, 5), x[1],
                                           HostTensor({3}, {2, 0, 1})};
    const VmapOptions options{.in_axes = {0, std::nullopt, 0}};
    expect_same([&](const Values& v) { return vmap(sample.fn, v, options); }, batch, 2e-6);
  }
}

TEST_F(ShardMapExecution, AxesMayStayAutomatic) {
  const auto fn = [](const Values& v) {
    return shard_map(
        [](const Values& p) {
          const auto step = [&](const Values& c, const Values&) {
            return ScanResult{{tanh(psum(dot(c[0], p[1]), {"model"}))}, {}};
          };
          const Tensor i = astype(axis_index({"model"}), DType::kF32);
          return Values{scan(step, {p[0] + i}, {}, 2).carry[0]};
        },
        v, over({{{kReplicated, "model"}}, {{"model"}}}, {{}}, {"model"}));
  };
  const HostTensor x = testing::normal_values({4, 16}, 2), w = testing::normal_values({16, 4}, 3);
  expect_same(fn, {x, w}, 1e-5);
  expect_same([&](const Values& v) { return gradient(fn, v); }, {x, w}, 1e-5);
}

TEST_F(ShardMapExecution, TheBatchOfAVmapMayBeDivided) {
  expect_same(testing::divided_batch, {testing::normal_values({6, 8}, 5)}, 2e-6);
}

TEST_F(ShardMapExecution, RematsAroundABodySaveItsNamedValues) {
  const auto layer = [](const Values& v) {
    return shard_map(
        [](const Values& p) {
          const Tensor q = name(dot(p[0], p[1]) * 0.25, "q");
          const Tensor c = name(tanh(sum(q) * 0.1), "c");
          return Values{p[0] + psum(dot(tanh(q) * c, p[2]), {"model"}) * 0.25};
        },
        v, over({{{"data"}}, {{kReplicated, "model"}}, {{"model"}}}, {{{"data"}}}));
  };
  const std::vector<HostTensor> x = {testing::normal_values({4, 6}, 6),
                                     testing::normal_values({6, 8}, 7),
                                     testing::normal_values({8, 6}, 8)};
  for (const RematPolicy& policy : {save_names({"q", "c"}), save_names({"c"}, {"q"})}) {
    SCOPED_TRACE(policy.text);
    const auto once = [&](const Values& v) { return remat(layer, v, policy); };
    const auto in_loop = [&](const Values& v) {
      const auto step = [&](const Values& carry, const Values&) {
        return ScanResult{once({carry[0], v[1], v[2]}), {}};
      };
      return scan(step, {v[0]}, {}, 3).carry;
    };
    expect_same([&](const Values& v) { return gradient(once, v); }, x, 1e-5);
    expect_same([&](const Values& v) { return gradient(in_loop, v); }, x, 2e-5);
  }
}

}  // namespace
}  // namespace axle
