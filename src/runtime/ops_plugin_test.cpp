// Every op and every sampler on the CPU plugin gives what the interpreter gives.
#include <gtest/gtest.h>

#include <cmath>

#include "lower/stablehlo.h"
#include "runtime/plugin.h"
#include "runtime/runtime.h"
#include "testing/op_samples.h"
#include "transform/trace.h"

namespace axle {
namespace {

using testing::op_samples;
using testing::OpSample;

class OpsOnPlugin : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!find_plugin(plugin_policy("cpu")))
      GTEST_SKIP() << "no CPU plugin: " << plugin_policy("cpu").how_to_get;
    runtime_ = make_runtime({});
  }

  std::vector<HostTensor> run(const TensorFunction& fn, const std::vector<HostTensor>& inputs) {
    std::vector<Type> types;
    for (const HostTensor& x : inputs) types.push_back(x.type());
    const auto graph = trace(fn, types);
    std::vector<ProgramValue> parameters, results;
    for (size_t i = 0; i < types.size(); ++i)
      parameters.push_back({"x" + std::to_string(i), types[i]});
    for (const Tensor& r : graph->results())
      results.push_back({"y" + std::to_string(results.size()), r.type()});
    const auto program = runtime_->compile(lower(graph, "sample", parameters, results));
    Arrays arguments;
    for (const HostTensor& x : inputs) arguments.push_back(runtime_->make_array(x, {}, {}));
    std::vector<HostTensor> out;
    for (const ArrayPtr& y : program->execute(arguments)) out.push_back(y->to_host());
    return out;
  }

  // Integers and predicates are equal; floats agree within `tolerance` of the largest element
  // (bf16: one rounding).
  void expect_same(const TensorFunction& fn, const std::vector<HostTensor>& inputs,
                   double tolerance = 1e-5) {
    const auto got = run(fn, inputs), want = eval(fn, inputs);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      if (!is_float(want[i].dtype())) {
        EXPECT_EQ(got[i], want[i])
            << "result " << i << ": " << got[i].text() << " against " << want[i].text();
        continue;
      }
      ASSERT_EQ(got[i].type(), want[i].type());
      double largest = 0;
      for (int64_t j = 0; j < want[i].size(); ++j) {
        if (std::isfinite(want[i].at(j))) largest = std::max(largest, std::abs(want[i].at(j)));
      }
      const double allowed = largest * (want[i].dtype() == DType::kBF16 ? 0x1p-7 : tolerance);
      for (int64_t j = 0; j < want[i].size(); ++j) {
        if (got[i].at(j) == want[i].at(j)) continue;  // infinities
        EXPECT_NEAR(got[i].at(j), want[i].at(j), allowed) << "result " << i << " at " << j;
      }
    }
  }

  std::unique_ptr<Runtime> runtime_;
};

TEST_F(OpsOnPlugin, EverySampleAgreesWithTheInterpreter) {
  for (const OpSample& sample : op_samples()) {
    SCOPED_TRACE(std::string(sample.op));
    expect_same(sample.fn, sample.inputs);
  }
}

// Draws through logarithms differ in their last bits; all others are exact.
TEST_F(OpsOnPlugin, SamplersAgreeWithTheInterpreter) {
  const std::vector<HostTensor> key{random::key(17)};
  const auto exact = [&](const TensorFunction& fn) { EXPECT_EQ(run(fn, key), eval(fn, key)); };
  exact([](const Values& k) { return Values{random::split(k[0], 5), random::fold_in(k[0], 3)}; });
  exact([](const Values& k) {
    return Values{random::bits(k[0], 8, {7}), random::bits(k[0], 32, {3, 5}),
                  random::bits(k[0], 64, {2, 2})};
  });
  exact([](const Values& k) {
    return Values{random::uniform(k[0], {4, 3}), random::uniform(k[0], {9}, DType::kBF16),
                  random::uniform(k[0], {4}, DType::kF64)};
  });
  exact([](const Values& k) {
    return Values{random::bernoulli(k[0], {20}, 0.3), random::rademacher(k[0], {9})};
  });
  exact([](const Values& k) {
    return Values{random::randint(k[0], {30}, -7, 100),
                  random::randint(k[0], {9}, 0, 1000, DType::kU64)};
  });
  exact([](const Values& k) {
    return Values{random::permutation(k[0], 100), random::choice(k[0], 20, {5})};
  });
  expect_same(
      [](const Values& k) {
        return Values{
            random::normal(k[0], {50}),      random::truncated_normal(k[0], {50}, -2, 2),
            random::exponential(k[0], {50}), random::gumbel(k[0], {50}),
            random::laplace(k[0], {50}),     random::uniform(k[0], {50}, DType::kF32, -2, 5)};
      },
      key, 1e-6);
}

}  // namespace
}  // namespace axle
