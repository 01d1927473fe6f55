// Tests of layers: laws that hold for every layer, and calls with chosen parameters.
//
//   AXLE_LAYER_LAWS(FeedForward, {.model_dim = 4}, {{"plain", {.hidden_dim = FixedDim{6}}},
//   {"gated", kGated}})
// checks, for each case: gradients against finite differences in f64, rematerialised = plain bit
// for bit, bf16 close to f64, and the table of parameters against
// testdata/golden/<Layer>/<case>.txt (UPDATE_GOLDEN=1 writes it).
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "testing/checkout.h"
#include "testing/gradient_check.h"
#include "testing/layer_call.h"
#include "testing/layer_inputs.h"

namespace axle::testing {

/// "FeedForward" -> "feed_forward", "RMSNorm" -> "rms_norm": the path of a layer in a test.
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

/// Initial parameters plus 0.3 * normal values, so that ones and zeros hide nothing.
inline Tree<HostTensor> jittered_parameters(const Layer& layer) {
  Tree<HostTensor> all = initial_parameters(layer, 0);
  uint64_t seed = 7;
  for (auto& [path, value] : all) {
    const HostTensor noise = random_tensor(value.type(), ++seed, 0.3);
    HostTensor moved = value.astype(DType::kF64);
    for (size_t i = 0; i < noise.values<double>().size(); ++i)
      moved.values<double>()[i] += noise.values<double>()[i];
    value = moved.astype(value.dtype());
  }
  return all;
}

/// A layer with parameters of its own, called through the interpreter.
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
  /// Path below the layer: "up/weight".
  TestLayer& set(std::string_view path, HostTensor value) {
    parameters_.insert_or_assign(join_path(layer_->path(), path), std::move(value));
    return *this;
  }
  /// All parameters at their place in the tree.
  TestLayer& set_all(Tree<HostTensor> parameters) {
    parameters_ = std::move(parameters);
    return *this;
  }
  /// The first result for the first input.
  HostTensor run(const HostTensor& x, const CallOptions& options = {}) {
    return call({{layer_->methods()[0].inputs[0], x}}, options).outputs[0];
  }
  LayerResult call(const Tree<HostTensor>& inputs, const CallOptions& options = {}) {
    return call_layer(*layer_, parameters_, inputs, options);
  }
  /// The method as a function of parameters and inputs.
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

/// A config with a name for messages and golden files.
template <class L>
struct LawCase {
  std::string name;
  typename L::Config config;
};

namespace detail {

template <class L>
void law_gradients(const typename L::Role::Dims& dims, const std::vector<LawCase<L>>& cases) {
  for (const auto& [name, config] : cases) {
    SCOPED_TRACE(name);
    TestLayer<L> layer(config, dims);
    const LayerFunction fn =
        layer.function(LawInputs<typename L::Role>::make(dims), {.training = true});
    check_gradients(fn, fn.arguments(), 1);
  }
}

/// Results and gradients for fixed cotangents.
inline std::vector<HostTensor> results_and_gradients(const LayerFunction& fn) {
  const std::vector<HostTensor> y = eval(fn, fn.arguments());
  std::vector<HostTensor> cotangents;
  for (size_t i = 0; i < y.size(); ++i) cotangents.push_back(random_tensor(y[i].type(), 50 + i, 1));
  std::vector<HostTensor> all = eval(gradient_function(fn, cotangents), fn.arguments());
  all.insert(all.end(), y.begin(), y.end());
  return all;
}

template <class L>
void law_remat(const typename L::Role::Dims& dims, const std::vector<LawCase<L>>& cases) {
  for (const auto& [name, config] : cases) {
    SCOPED_TRACE(name);
    const Tree<HostTensor> inputs = LawInputs<typename L::Role>::make(dims);
    TestLayer<L> plain(config, dims), rematerialised(config, dims, {.remat = SaveNothing{}});
    EXPECT_EQ(results_and_gradients(plain.function(inputs, {.training = true})),
              results_and_gradients(rematerialised.function(inputs, {.training = true})));
  }
}

template <class L>
void law_bf16(const typename L::Role::Dims& dims, const std::vector<LawCase<L>>& cases) {
  for (const auto& [name, config] : cases) {
    SCOPED_TRACE(name);
    TestLayer<L> layer(config, dims);
    Tree<HostTensor> inputs = LawInputs<typename L::Role>::make(dims),
                     parameters = layer.parameters();
    for (Tree<HostTensor>* tree : {&inputs, &parameters}) {
      for (auto& [path, value] : *tree) {
        if (is_float(value.dtype())) value = value.astype(DType::kBF16);
      }
    }
    layer.set_all(parameters);
    const LayerResult low = layer.call(inputs), high = layer.call(inputs, {.eval = {.f64 = true}});
    for (size_t i = 0; i < low.outputs.size(); ++i) {
      EXPECT_LE(relative_difference(low.outputs[i], high.outputs[i]), 0.05);
      if constexpr (!std::is_same_v<typename L::Role, Model>) {
        EXPECT_EQ(low.outputs[i].dtype(), DType::kBF16) << "result " << i;
      }
    }
  }
}

inline std::string parameter_table(const Layer& layer) {
  std::ostringstream out;
  for (const auto& [path, spec] : layer.param_specs()) {
    out << path << ": " << to_text(spec.type()) << " axes " << to_text(spec.partition()) << " init "
        << spec.initialiser().text << "\n";
  }
  return out.str();
}

inline void expect_golden(const std::string& file, const std::string& text) {
  const std::filesystem::path path =
      source_file("testdata/golden") / file;
  if (std::getenv("UPDATE_GOLDEN")) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ifstream in(path, std::ios::binary);
  ASSERT_TRUE(in) << path << " is missing; UPDATE_GOLDEN=1 writes it";
  std::ostringstream golden;
  golden << in.rdbuf();
  EXPECT_EQ(golden.str(), text) << path << " differs; UPDATE_GOLDEN=1 rewrites it";
}

template <class L>
void law_golden(const typename L::Role::Dims& dims, const std::vector<LawCase<L>>& cases) {
  for (const auto& [name, config] : cases) {
    TestLayer<L> layer(config, dims);
    expect_golden(std::string(L::Config::config_type().name) + "/" + name + ".txt",
                  parameter_table(layer.layer()));
  }
}

}  // namespace detail
}  // namespace axle::testing

#define AXLE_LAYER_LAWS(L, ...)                                                                \
  TEST(L##Laws, GradientsAgreeWithDifferences) {                                               \
    ::axle::testing::detail::law_gradients<L>(__VA_ARGS__);                                    \
  }                                                                                            \
  TEST(L##Laws, RematerialisedIsPlain) { ::axle::testing::detail::law_remat<L>(__VA_ARGS__); } \
  TEST(L##Laws, Bf16IsClose) { ::axle::testing::detail::law_bf16<L>(__VA_ARGS__); }            \
  TEST(L##Laws, ParametersAreAsGolden) { ::axle::testing::detail::law_golden<L>(__VA_ARGS__); }

#define EXPECT_ALLCLOSE(actual, ...) EXPECT_TRUE(::axle::testing::all_close(actual, __VA_ARGS__))

/// `text` is the whole message.
#define EXPECT_ERROR(expression, text)                       \
  try {                                                      \
    (void)(expression);                                      \
    ADD_FAILURE() << "expected an error: " << text;          \
  } catch (const ::axle::Error& error) {                     \
    EXPECT_EQ(std::string(error.what()), std::string(text)); \
  }
