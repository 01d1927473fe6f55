#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>

#include "ir/host_tensor.h"
#include "ir/text/text_form.h"
#include "testing/body_samples.h"
#include "testing/collective_samples.h"
#include "testing/device_samples.h"
#include "testing/gradient_check.h"
#include "testing/op_samples.h"

namespace axle {
namespace {

using testing::check_gradients;
using testing::collectives;
using testing::CollectiveSample;
using testing::op_samples;
using testing::OpSample;

// True if a result has a gradient to compare.
bool has_differentiable_result(const Region& region) {
  return std::ranges::any_of(region.results(),
                             [](const Tensor& t) { return is_differentiable(t.dtype()); });
}

std::vector<OpSample> all_body_samples() {
  std::vector<OpSample> out = testing::body_samples();
  for (OpSample& sample : testing::device_samples()) out.push_back(std::move(sample));
  return out;
}

// Returns the inputs with 0 for every third float of input `which`, or of all if there is none.
std::vector<HostTensor> with_zeros(std::vector<HostTensor> inputs, size_t which, size_t first) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool is_meant = which == i || which == inputs.size();
    if (!is_meant || inputs[i].dtype() != DType::kF32) continue;
    const auto values = inputs[i].values<float>();
    for (size_t j = first; j < values.size(); j += 3) values[j] = 0;
  }
  return inputs;
}

std::shared_ptr<Region> op_gradients_traced(const OpSample& sample) {
  std::vector<Type> types;
  for (const HostTensor& x : sample.inputs) types.push_back(x.type());
  return trace(sample.fn, types);
}

TEST(OpGradients, EveryOpHasASample) {
  std::set<std::string> sampled;
  for (const OpSample& sample : op_samples()) {
    EXPECT_GT(count_ops(*op_gradients_traced(sample), sample.op), 0)
        << "the sample of " << sample.op << " does not use it";
    sampled.emplace(sample.op);
  }
  for (const CollectiveSample& sample : collectives()) {
    const auto region = trace(sample.on_devices, {{DType::kF32, {8, 4}}});
    if (count_ops(*region, sample.name) > 0) sampled.insert(sample.name);
  }
  for (const OpRules* op : all_ops()) {
    if (op->row().linearize) continue;  // ops with regions have tests of their own
    EXPECT_TRUE(sampled.contains(std::string(op->name())))
        << "no sample of " << op->name() << " in testing/op_samples.h";
  }
}

TEST(OpGradients, AgreeWithFiniteDifferences) {
  std::set<std::string> checked;
  for (const OpSample& sample : op_samples()) {
    const auto region = op_gradients_traced(sample);
    if (sample.op == "stop_gradient" || sample.inputs.empty() ||
        !has_differentiable_result(*region))
      continue;
    SCOPED_TRACE(std::string(sample.op));
    check_gradients(sample.fn, sample.inputs, 2, 1e-6);
    checked.emplace(sample.op);
  }
  for (const CollectiveSample& sample : collectives()) {
    SCOPED_TRACE(sample.name);
    check_gradients(sample.on_devices, {testing::normal_values({8, 4}, 3)});
    checked.insert(sample.name);
  }
  for (const OpRules* op : all_ops()) {
    if (!op->differentiable() || op->row().linearize) continue;
    EXPECT_TRUE(checked.contains(std::string(op->name())))
        << op->name() << " is differentiable, but no sample of it was checked";
  }
}

TEST(OpGradients, OpsWithABodyAgreeWithFiniteDifferences) {
  // They have no reverse mode (while_loop_test.cpp).
  std::set<std::string> checked = {"while", "while_pullback"};
  for (const OpSample& sample : all_body_samples()) {
    if (sample.op == "while") continue;
    SCOPED_TRACE(std::string(sample.op));
    checked.emplace(sample.op);
    if (sample.op != "custom_vjp") {
      check_gradients(sample.fn, sample.inputs);
      continue;
    }
    // Its rule need not be the derivative of the function, but the rule has a derivative itself.
    const HostTensor ct =
        testing::random_tensor(op_gradients_traced(sample)->results()[0].type(), 7);
    check_gradients(testing::gradient_function(sample.fn, {ct}), sample.inputs, 1);
  }
  for (const OpRules* op : all_ops()) {
    if (!op->row().linearize) continue;
    EXPECT_TRUE(checked.contains(std::string(op->name())))
        << op->name() << " has no sample in testing/body_samples.h or device_samples.h";
  }
}

// <ct, J v> by jvp equals <J^T ct, v> by vjp.
TEST(OpGradients, ForwardModeIsTheTransposeOfReverseMode) {
  std::vector<OpSample> all = op_samples();
  for (OpSample& sample : all_body_samples()) all.push_back(std::move(sample));
  for (const OpSample& sample : all) {
    const auto region = op_gradients_traced(sample);
    if (sample.op == "while" || sample.inputs.empty() || !has_differentiable_result(*region))
      continue;
    SCOPED_TRACE(std::string(sample.op));
    std::vector<HostTensor> directions, cotangents;
    for (const HostTensor& x : sample.inputs)
      directions.push_back(testing::random_tensor(x.type(), directions.size() + 1));
    for (const Tensor& y : region->results())
      cotangents.push_back(testing::random_tensor(y.type(), cotangents.size() + 11));
    const auto tangents = eval(
        [&](const Values& x) {
          Values v;
          for (size_t i = 0; i < x.size(); ++i) {
            const bool moves = is_differentiable(x[i].dtype());
            v.push_back(moves ? astype(constant(directions[i]), x[i].dtype()) : Tensor());
          }
          Values out = jvp(sample.fn, x, v).second;
          for (Tensor& t : out) t = t ? t : scalar(0);
          return out;
        },
        sample.inputs, {.f64 = true});
    const auto gradients =
        eval(testing::gradient_function(sample.fn, cotangents), sample.inputs, {.f64 = true});
    std::erase_if(directions, [](const HostTensor& v) { return !is_differentiable(v.dtype()); });
    double forward = 0;
    for (size_t i = 0; i < tangents.size(); ++i) {
      if (is_differentiable(region->results()[i].dtype()))
        forward += testing::inner_product({cotangents[i]}, {tangents[i]});
    }
    const double reverse = testing::inner_product(gradients, directions);
    EXPECT_NEAR(forward, reverse, 1e-9 * std::max(1.0, std::abs(reverse)));
  }
}

// Formulas like y / x hold everywhere but at 0. Both orders hold there too, unless the op has a
// pole, or is one of those with a kink or a tie. Zeros lie in one argument at a time and in all.
TEST(OpGradients, AgreeWithFiniteDifferencesAtZeros) {
  const std::set<std::string_view> kinked = {"abs",         "cbrt",        "ceil",
                                             "floor",       "qr",          "reduce_max",
                                             "relu",        "scatter_min", "select_and_scatter_add",
                                             "sign",        "sort",        "reduce_window_max",
                                             "scatter_max", "sqrt",        "top_k"};
  // These have a kink or a tie where several arguments are 0.
  const std::set<std::string_view> kinked_together = {"atan2", "clamp", "max", "min", "pow"};
  std::vector<OpSample> samples = op_samples();
  for (OpSample& sample : all_body_samples()) samples.push_back(std::move(sample));
  std::set<std::string_view> poles;
  for (const OpSample& sample : samples) {
    const bool is_left_out = kinked.contains(sample.op) || sample.op == "stop_gradient" ||
                             sample.op == "while" || sample.op == "custom_vjp";
    if (sample.inputs.empty() || is_left_out ||
        !has_differentiable_result(*op_gradients_traced(sample)))
      continue;
    const size_t num_cases = sample.inputs.size() + (kinked_together.contains(sample.op) ? 0 : 1);
    for (size_t which = 0; which < num_cases; ++which) {
      for (const size_t first : {0, 1, 2}) {
        SCOPED_TRACE(fmt::format("{} with zeros in {} from {} on", sample.op, which, first));
        const std::vector<HostTensor> x = with_zeros(sample.inputs, which, first);
        if (std::ranges::all_of(eval(sample.fn, x, {.f64 = true}), all_finite))
          check_gradients(sample.fn, x);
        else
          poles.insert(sample.op);
      }
    }
  }
  EXPECT_THAT(poles, ::testing::ElementsAre("digamma", "div", "integer_pow", "lgamma", "log",
                                            "polygamma", "pow", "rem", "rsqrt"));
}

TEST(OpGradients, ProductsWithZerosAgreeWithFiniteDifferences) {
  const HostTensor x({2, 4}, {2.f, 0.f, -1.f, 3.f, 0.f, 1.f, 0.f, 2.f});
  check_gradients([](const Values& v) { return Values{reduce_prod(v[0], {1})}; }, {x});
  check_gradients([](const Values& v) { return Values{cumprod(v[0], 1)}; }, {x});
  check_gradients([](const Values& v) { return Values{cumprod(v[0], 1, true)}; }, {x});
}

TEST(OpGradients, SumsOfVanishingTermsHaveZeroGradients) {
  // All terms are exp(-inf): the sum's gradient is zero, not NaN.
  const float inf = std::numeric_limits<float>::infinity();
  const auto gradient = [](const Values& v) {
    return value_and_grad([](const Values& x) { return Values{exp(logsumexp(x[0]))}; }, v).second;
  };
  EXPECT_EQ(eval(gradient, {HostTensor({2}, {-inf, -inf})})[0], HostTensor({2}, {0.f, 0.f}));
}

TEST(OpGradients, TiesShareOrGoToTheFirst) {
  const auto gradient = [](Tensor (*fn)(const Tensor&)) {
    const HostTensor x({4}, {1.f, 2.f, 2.f, 0.f});
    return eval(
        [fn](const Values& v) {
          return value_and_grad([fn](const Values& t) { return Values{fn(t[0])}; }, v).second;
        },
        {x})[0];
  };
  EXPECT_EQ(gradient([](const Tensor& x) { return reduce_max(x, {0}); }),
            HostTensor({4}, {0.f, 0.5f, 0.5f, 0.f}));
  EXPECT_EQ(gradient([](const Tensor& x) { return sum(maximum(x, 2)); }),
            HostTensor({4}, {0.f, 0.5f, 0.5f, 0.f}));
  EXPECT_EQ(gradient([](const Tensor& x) { return sum(top_k(x, 1).first); }),
            HostTensor({4}, {0.f, 1.f, 0.f, 0.f}));
  EXPECT_EQ(gradient([](const Tensor& x) { return sum(relu(x)); }),
            HostTensor({4}, {1.f, 1.f, 1.f, 0.f}));
}

// The vjp of jnp's x.at[[0, 0, 2, 7]].max(u): the first element ties with two updates.
TEST(OpGradients, TiesOfScatterShare) {
  const TensorFunction gradient = [](const Values& v) {
    const TensorFunction scattered = [&](const Values& t) {
      return Values{max_at(t[0], constant(HostTensor({4}, {0, 0, 2, 7})), t[1])};
    };
    return vjp(scattered, v).pullback({constant(HostTensor({3}, {6.f, 10.f, 20.f}))});
  };
  const auto g =
      eval(gradient, {HostTensor({3}, {1.f, 5.f, 2.f}), HostTensor({4}, {1.f, 1.f, 3.f, 9.f})});
  EXPECT_EQ(g[0], HostTensor({3}, {2.f, 10.f, 0.f}));
  EXPECT_EQ(g[1], HostTensor({4}, {2.f, 2.f, 20.f, 0.f}));
}

TEST(OpGradients, ScatteredZerosAgreeWithFiniteDifferences) {
  // Elements with no, one and two updates of zero.
  const HostTensor x({3}, {2.f, 3.f, 5.f}), u({6}, {4.f, 0.f, -1.f, 0.f, 0.f, 7.f});
  const TensorFunction product = [](const Values& v) {
    return Values{multiply_at(v[0], constant(HostTensor({6}, {0, 1, 1, 2, 2, 0})), v[1])};
  };
  check_gradients(product, {x, u}, 1);
}

}  // namespace
}  // namespace axle
