// Tests on the real CPU plugin, which compare it with the interpreter.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "lower/stablehlo.h"
#include "pjrt/pjrt_runtime.h"
#include "runtime/runtime.h"
#include "testing/host_tensors.h"
#include "testing/needs_plugin.h"

namespace axle {

/// Skips if there is no CPU plugin.
class PluginTest : public ::testing::Test {
 protected:
  explicit PluginTest(int64_t num_devices = 1) : num_devices_(num_devices) {}
  /// Programs run over the devices of a mesh; inputs and results are replicated.
  explicit PluginTest(Mesh mesh) : mesh_(std::move(mesh)), num_devices_(mesh_.num_devices()) {}
  void SetUp() override {
    AXLE_NEEDS_PLUGIN("cpu");
    runtime_ = make_runtime({.num_devices = num_devices_});
  }
  ArrayPtr put(const HostTensor& value) { return runtime_->make_array(value, {}, mesh_); }

  /// Compiles fn for inputs of these types.
  std::unique_ptr<Executable> compile(const TensorFunction& fn,
                                      const std::vector<HostTensor>& inputs) {
    std::vector<ProgramValue> parameters, results;
    for (const HostTensor& x : inputs)
      parameters.push_back({"x" + std::to_string(parameters.size()), x.type()});
    const TensorFunction named = [&](const Values& x) {
      Values y = fn(x);
      for (const Tensor& t : y) results.push_back({"y" + std::to_string(results.size()), t.type()});
      return y;
    };
    return runtime_->compile(trace_program("test", named, parameters, results, mesh_));
  }
  /// Runs fn(inputs) on the plugin.
  std::vector<HostTensor> run(const TensorFunction& fn, const std::vector<HostTensor>& inputs) {
    Arrays arguments;
    for (const HostTensor& x : inputs) arguments.push_back(put(x));
    std::vector<HostTensor> out;
    for (const ArrayPtr& y : compile(fn, inputs)->execute(arguments)) out.push_back(y->to_host());
    return out;
  }

  /// Expects that the plugin's results equal the interpreter's. Finite floats may differ by
  /// `tolerance` times the largest element of the result (small floats: by one rounding).
  void expect_same(const TensorFunction& fn, const std::vector<HostTensor>& inputs,
                   double tolerance) {
    const auto actual = run(fn, inputs), expected = eval(fn, inputs);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) {
      SCOPED_TRACE("result " + std::to_string(i));
      expect_close(actual[i], expected[i], tolerance);
    }
  }

  /// Compares one result; see expect_same.
  static void expect_close(const HostTensor& actual, const HostTensor& expected, double tolerance) {
    ASSERT_EQ(actual.type(), expected.type());
    if (is_complex(expected.dtype())) {
      return expect_close(testing::real_parts(actual), testing::real_parts(expected), tolerance);
    }
    if (!is_float(expected.dtype())) {
      EXPECT_EQ(actual, expected) << actual.text() << " against " << expected.text();
      return;
    }
    double largest = 0;
    for (int64_t i = 0; i < expected.size(); ++i) {
      if (std::isfinite(expected.at(i))) largest = std::max(largest, std::abs(expected.at(i)));
    }
    const double allowed = largest * std::max(tolerance, small_rounding(expected.dtype()));
    for (int64_t i = 0; i < expected.size(); ++i) {
      const double a = actual.at(i), e = expected.at(i);
      if (std::isfinite(e)) {
        EXPECT_NEAR(a, e, allowed) << "at " << i;
      } else {
        EXPECT_TRUE(std::isnan(e) ? std::isnan(a) : a == e)
            << "at " << i << ": " << a << " instead of " << e;
      }
    }
  }

  /// Returns the distance from 1 to the next number of a small float; 0 for other dtypes.
  static double small_rounding(DType dtype) {
    switch (dtype) {
      case DType::kF8E4M3FN:
        return 0x1p-3;
      case DType::kF8E5M2:
        return 0x1p-2;
      case DType::kF16:
        return 0x1p-10;
      case DType::kBF16:
        return 0x1p-7;
      default:
        return 0;
    }
  }

  std::unique_ptr<Runtime> runtime_;

 private:
  Mesh mesh_ = {};
  int64_t num_devices_;
};

}  // namespace axle
