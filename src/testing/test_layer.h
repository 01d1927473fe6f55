// Calls of one layer with chosen parameters, on the interpreter.
#pragma once

#include <gtest/gtest.h>

#include "base/error.h"
#include "testing/error_of.h"
#include "testing/gradient_check.h"
#include "testing/host_tensors.h"
#include "testing/layer_call.h"

namespace axle::testing {

/// Returns the path of a layer in a test: "FeedForward" -> "feed_forward", "RMSNorm" -> "rms_norm".
inline std::string snake_case(std::string_view name) {
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    const auto upper = [&](size_t j) {
      return j < name.size() && std::isupper(static_cast<unsigned char>(name[j]));
    };
    if (i > 0 && upper(i) && (!upper(i - 1) || (i + 1 < name.size() && !upper(i + 1)))) out += '_';
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
  }
  return out;
}

/// Returns the initial parameters plus 0.3 * normal values, so that ones and zeros do not hide
/// mistakes.
inline Tree<HostTensor> jittered_parameters(const Layer& layer) {
  Tree<HostTensor> all = initial_parameters(layer, 0);
  uint64_t seed = 7;
  for (auto& [path, value] : all) {
    if (!is_float(value.dtype())) continue;  // codes: any whole number means something else
    const HostTensor noise = random_tensor(value.type(), ++seed, 0.3);
    HostTensor moved = value.astype(DType::kF64);
    for (size_t i = 0; i < noise.values<double>().size(); ++i)
      moved.values<double>()[i] += noise.values<double>()[i];
    value = moved.astype(value.dtype());
  }
  return all;
}

/// A layer with parameters, called through the interpreter.
template <class L>
class TestLayer {
 public:
  using Role = typename L::Role;
  TestLayer(const typename L::Config& cfg, const typename Role::Dims& dims,
            LayerOptions options = {}) {
    const std::string root = snake_case(L::Config::config_type().name);
    layer_ = Child<Role>(cfg, std::move(options)).build(dims, Scope{.path = root});
    parameters_ = jittered_parameters(*layer_);
  }
  /// Sets one parameter, by its path below the layer: "up/weight".
  TestLayer& set(std::string_view path, HostTensor value) {
    parameters_.insert_or_assign(join_path(layer_->path(), path), std::move(value));
    return *this;
  }
  /// Sets all parameters, by their full paths.
  TestLayer& set_all(Tree<HostTensor> parameters) {
    parameters_ = std::move(parameters);
    return *this;
  }
  /// Returns the first result of a call in which only the first input is given.
  HostTensor run(const HostTensor& x, const CallOptions& options = {}) {
    return call({{layer_->methods()[0].inputs[0], x}}, options).outputs[0];
  }
  LayerResult call(const Tree<HostTensor>& inputs, const CallOptions& options = {}) {
    return call_layer(*layer_, parameters_, inputs, options);
  }
  /// Returns a method as a function of parameters and inputs.
  LayerFunction function(const Tree<HostTensor>& inputs, CallOptions options = {}) {
    return {*layer_, parameters_, inputs, std::move(options)};
  }
  Role& layer() { return *layer_; }
  const Tree<HostTensor>& parameters() const { return parameters_; }
  const HostTensor& parameter(std::string_view path) const {
    return parameters_.at(join_path(layer_->path(), path));
  }

 private:
  std::unique_ptr<Role> layer_;
  Tree<HostTensor> parameters_;
};

template <class L>
TestLayer<L> build_for_test(const typename L::Config& cfg, const typename L::Role::Dims& dims,
                            LayerOptions options = {}) {
  return {cfg, dims, std::move(options)};
}

inline ::testing::AssertionResult all_close(const HostTensor& actual, const HostTensor& expected,
                                            double tolerance = 1e-6) {
  if (actual.shape() != expected.shape()) {
    return ::testing::AssertionFailure()
           << "shapes differ: " << to_text(actual.shape()) << " and " << to_text(expected.shape());
  }
  const double difference = relative_difference(actual, expected);
  if (difference <= tolerance) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "relative difference " << difference << " > " << tolerance
                                       << ": " << actual.text() << " and " << expected.text();
}

}  // namespace axle::testing

#define EXPECT_ALLCLOSE(actual, ...) EXPECT_TRUE(::axle::testing::all_close(actual, __VA_ARGS__))

/// Expects an error whose whole message is `text`.
#define EXPECT_ERROR(expression, text) \
  EXPECT_EQ(::axle::error_of<::axle::Error>([&] { (void)(expression); }), text)
