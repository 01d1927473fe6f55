#include <gmock/gmock.h>

#include <set>

#include "ir/print.h"
#include "testing/gradient_check.h"
#include "testing/op_samples.h"

namespace axle {
namespace {

using testing::check_gradients;
using testing::op_samples;
using testing::OpSample;

// A discontinuous result (of an integer dtype, say) has no gradient to compare.
bool has_float_result(const Region& region) {
  return std::ranges::any_of(region.results(), [](const Tensor& t) { return is_float(t.dtype()); });
}

std::shared_ptr<Region> traced(const OpSample& sample) {
  std::vector<Type> types;
  for (const HostTensor& x : sample.inputs) types.push_back(x.type());
  return trace(sample.fn, types);
}

TEST(OpGradients, EveryOpHasASample) {
  std::set<std::string_view> sampled;
  for (const OpSample& sample : op_samples()) {
    EXPECT_GT(count_ops(*traced(sample), sample.op), 0) << "the sample of " << sample.op << " does not use it";
    sampled.insert(sample.op);
  }
  for (const OpRules* op : all_ops()) {
    if (op->row().linearize) continue;  // ops with regions have tests of their own
    EXPECT_TRUE(sampled.contains(op->name())) << "no sample of " << op->name() << " in testing/op_samples.h";
  }
}

TEST(OpGradients, AgreeWithFiniteDifferences) {
  std::set<std::string_view> checked;
  for (const OpSample& sample : op_samples()) {
    const auto region = traced(sample);
    if (sample.op == "stop_gradient" || sample.inputs.empty() || !has_float_result(*region)) continue;
    SCOPED_TRACE(std::string(sample.op));
    check_gradients(sample.fn, sample.inputs, 2, 1e-6);
    checked.insert(sample.op);
  }
  for (const OpRules* op : all_ops()) {
    if (!op->differentiable() || op->row().linearize) continue;
    EXPECT_TRUE(checked.contains(op->name())) << op->name() << " is differentiable, but no sample of it was checked";
  }
}

}  // namespace
}  // namespace axle
