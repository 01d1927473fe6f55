// Law: a plugin computes what the interpreter computes, for ops with a body, their gradients, and
// both under vmap.
#include <gmock/gmock.h>

#include "testing/body_samples.h"
#include "testing/plugin_fixture.h"

namespace axle {
namespace {

using testing::body_samples;
using testing::OpSample;

using BodyExecution = PluginTest;

Values gradients(const TensorFunction& fn, const Values& v) {
  const auto loss = [&](const Values& x) {
    Tensor total = scalar(0);
    for (const Tensor& y : fn(x)) {
      if (is_float(y.dtype())) total = total + sum(y * y);
    }
    return Values{total};
  };
  Values out = value_and_grad(loss, v).second;
  std::erase_if(out, [](const Tensor& t) { return !static_cast<bool>(t); });
  return out;
}

TEST_F(BodyExecution, MatchesTheInterpreter) {
  for (const OpSample& sample : body_samples()) {
    SCOPED_TRACE(std::string(sample.op));
    expect_same(sample.fn, sample.inputs, 2e-6);
    if (sample.op == "while") continue;  // it has no reverse mode
    expect_same([&](const Values& v) { return gradients(sample.fn, v); }, sample.inputs, 1e-5);
  }
}

TEST_F(BodyExecution, MatchesTheInterpreterUnderVmap) {
  for (const OpSample& sample : body_samples()) {
    SCOPED_TRACE(std::string(sample.op));
    const std::vector<HostTensor> batch = {testing::samples::uniform({3, 4}, -1, 1, 5),
                                           sample.inputs[1], HostTensor({3}, {2, 0, 1})};
    const VmapOptions options{.in_axes = {0, std::nullopt, 0}};
    expect_same([&](const Values& v) { return vmap(sample.fn, v, options); }, batch, 2e-6);
    if (sample.op == "while") continue;
    expect_same(
        [&](const Values& v) {
          return vmap([&](const Values& x) { return gradients(sample.fn, x); }, v, options);
        },
        batch, 1e-5);
  }
}

}  // namespace
}  // namespace axle
