// Quantized products against formulas that are written out here, in f64.
#include <gmock/gmock.h>

#include <cmath>

#include "layers/dense/linear.h"
#include "layers/experts/dispatch.h"
#include "layers/experts/moe.h"
#include "layers/products/fp8_product.h"
#include "layers/products/int8_product.h"
#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::build_for_test;
using testing::normal_values;

constexpr int64_t kRows = 6, kIn = 8, kOut = 5;
constexpr Projection::Dims kQuantizedDims{.input_dim = kIn, .output_dim = kOut};

// A matrix of doubles.
struct Matrix {
  int64_t rows, columns;
  std::vector<double> values;
  double& at(int64_t i, int64_t j) { return values[i * columns + j]; }
  double at(int64_t i, int64_t j) const { return values[i * columns + j]; }
};
Matrix matrix(const HostTensor& x, int64_t columns) {
  Matrix out{x.size() / columns, columns, {}};
  for (int64_t i = 0; i < x.size(); ++i) out.values.push_back(x.at(i));
  return out;
}
Matrix transposed(const Matrix& x) {
  Matrix out{x.columns, x.rows, std::vector<double>(x.values.size())};
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t j = 0; j < x.columns; ++j) out.at(j, i) = x.at(i, j);
  }
  return out;
}
Matrix product(const Matrix& a, const Matrix& b) {
  Matrix out{a.rows, b.columns, std::vector<double>(static_cast<size_t>(a.rows * b.columns))};
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < b.columns; ++j) {
      for (int64_t k = 0; k < a.columns; ++k) out.at(i, j) += a.at(i, k) * b.at(k, j);
    }
  }
  return out;
}
double amax(const Matrix& x) {
  double out = 0;
  for (const double v : x.values) out = std::max(out, std::abs(v));
  return out;
}

// Rounds each row to integers of [-127, 127] times a scale.
Matrix int8_rows(Matrix x) {
  for (int64_t i = 0; i < x.rows; ++i) {
    double largest = 0;
    for (int64_t j = 0; j < x.columns; ++j) largest = std::max(largest, std::abs(x.at(i, j)));
    const double scale = largest / 127;
    for (int64_t j = 0; j < x.columns; ++j) x.at(i, j) = std::nearbyint(x.at(i, j) / scale) * scale;
  }
  return x;
}
Matrix int8_columns(const Matrix& x) { return transposed(int8_rows(transposed(x))); }

// Rounds to a float with these bits of mantissa and this least exponent of normal numbers.
Matrix fp8(Matrix x, double scale, Fp8Format format) {
  const int mantissa = format == Fp8Format::kE4M3 ? 3 : 2;
  const int least = format == Fp8Format::kE4M3 ? -6 : -14;
  const double largest = format == Fp8Format::kE4M3 ? 448 : 57344;
  for (double& v : x.values) {
    const double scaled = std::clamp(v / scale, -largest, largest);
    int exponent = 0;
    std::frexp(scaled, &exponent);
    const double unit = std::ldexp(1, std::max(exponent - 1, least) - mantissa);
    v = std::nearbyint(scaled / unit) * unit * scale;
  }
  return x;
}
Matrix fp8(const Matrix& x, Fp8Format format) {
  return fp8(x, amax(x) / (format == Fp8Format::kE4M3 ? 448 : 57344), format);
}

void expect_near(const HostTensor& actual, const Matrix& expected, double tolerance = 1e-5) {
  ASSERT_EQ(actual.size(), std::ssize(expected.values));
  const double largest = amax(expected);
  for (int64_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual.at(i), expected.values[i], tolerance * largest) << i;
}

// One training call of a Linear with this product, and its gradients for a fixed cotangent.
struct OneCall {
  Matrix x, weight, cotangent;
  HostTensor y, by_weight, by_x;
  Tree<HostTensor> by_state, state;
};
OneCall one_call(const Child<Product>& config, Tree<HostTensor> state = {}, double factor = 1) {
  const Linear::Config cfg{.bias = false, .product = config};
  auto layer = build_for_test<Linear>(cfg, kQuantizedDims);
  HostTensor x = normal_values({2, 3, kIn}, 3);
  for (float& v : x.values<float>()) v *= static_cast<float>(factor);
  const testing::CallOptions options{.training = true, .state = state};
  const testing::LayerFunction fn = layer.function({{"x", x}}, options);
  const HostTensor ct = normal_values({2, 3, kOut}, 9);
  const auto gradients = eval(testing::gradient_function(fn, {ct}), fn.arguments());
  const testing::LayerResult result = layer.call({{"x", x}}, options);
  OneCall out{.x = matrix(x, kIn),
              .weight = matrix(layer.parameter("weight"), kOut),
              .cotangent = matrix(ct, kOut),
              .y = result.outputs[0],
              .by_weight = gradients[0],
              .by_x = gradients[1],
              .by_state = {},
              .state = result.state};
  size_t next = 2;
  Tree<HostTensor> all = state;
  testing::add_initial_state(layer.layer(), all);
  for (const auto& [path, value] : all) out.by_state.emplace(path, gradients[next++]);
  return out;
}

// The error of a product of rounded numbers, relative to its largest element.
double error_of_rounding(const OneCall& r) {
  const Matrix exact = product(r.x, r.weight);
  double largest = 0;
  for (int64_t i = 0; i < r.y.size(); ++i)
    largest = std::max(largest, std::abs(r.y.at(i) - exact.values[i]));
  return largest / amax(exact);
}

TEST(Int8Product, EqualsTheFormula) {
  const OneCall r = one_call(Int8Product::Config{});
  const Matrix x = int8_rows(r.x), weight = int8_columns(r.weight);
  expect_near(r.y, product(x, weight));
  expect_near(r.by_x, product(r.cotangent, transposed(weight)));
  expect_near(r.by_weight, product(transposed(x), r.cotangent));
  EXPECT_GT(error_of_rounding(r), 1e-5);
  EXPECT_LT(error_of_rounding(r), 0.02);
}

TEST(Int8Product, BackwardProductsOfIntegers) {
  const OneCall r = one_call(Int8Product::Config{.backward = Int8Backward::kInteger});
  const Matrix x = int8_rows(r.x), weight = int8_columns(r.weight);
  expect_near(r.y, product(x, weight));
  // The forward product has its scales outside: what is rounded is the cotangent times both.
  Matrix scales = r.cotangent;
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kOut; ++j) {
      double of_x = 0, of_weight = 0;
      for (int64_t k = 0; k < kIn; ++k) {
        of_x = std::max(of_x, std::abs(r.x.at(i, k)) / 127);
        of_weight = std::max(of_weight, std::abs(r.weight.at(k, j)) / 127);
      }
      scales.at(i, j) = of_x * of_weight;
    }
  }
  Matrix scaled = r.cotangent;
  for (size_t i = 0; i < scaled.values.size(); ++i) scaled.values[i] *= scales.values[i];
  const auto unscaled = [&](Matrix m) {
    for (size_t i = 0; i < m.values.size(); ++i) m.values[i] /= scales.values[i];
    return m;
  };
  expect_near(r.by_x, product(unscaled(int8_rows(scaled)), transposed(weight)));
  expect_near(r.by_weight, product(transposed(x), unscaled(int8_columns(scaled))));
}

TEST(Fp8Product, EqualsTheFormula) {
  for (const Fp8Format forward : {Fp8Format::kE4M3, Fp8Format::kE5M2}) {
    SCOPED_TRACE(static_cast<int>(forward));
    const OneCall r = one_call(Fp8Product::Config{.forward = forward});
    const Matrix x = fp8(r.x, forward), weight = fp8(r.weight, forward),
                 ct = fp8(r.cotangent, Fp8Format::kE5M2);
    expect_near(r.y, product(x, weight));
    expect_near(r.by_x, product(ct, transposed(weight)));
    expect_near(r.by_weight, product(transposed(x), ct));
    EXPECT_GT(error_of_rounding(r), 1e-4);
    EXPECT_LT(error_of_rounding(r), forward == Fp8Format::kE4M3 ? 0.06 : 0.12);
  }
  const OneCall wide = one_call(Fp8Product::Config{.gradient = std::nullopt});
  expect_near(wide.by_weight, product(transposed(fp8(wide.x, Fp8Format::kE4M3)), wide.cotangent));
}

TEST(Fp8Product, RowsHaveSeparateScales) {
  const OneCall r =
      one_call(Fp8Product::Config{.gradient = std::nullopt, .scales = ScaleGroup::kRow});
  Matrix x = r.x, weight = transposed(r.weight);
  for (Matrix* m : {&x, &weight}) {
    for (int64_t i = 0; i < m->rows; ++i) {
      Matrix row{1,
                 m->columns,
                 {m->values.begin() + i * m->columns, m->values.begin() + (i + 1) * m->columns}};
      const Matrix rounded = fp8(row, Fp8Format::kE4M3);
      std::ranges::copy(rounded.values, m->values.begin() + i * m->columns);
    }
  }
  expect_near(r.y, product(x, transposed(weight)));
}

TEST(DelayedFp8Product, HistoriesAndScalesFollowTheSteps) {
  const DelayedFp8Product::Config cfg{.history_length = 3, .margin = 1};
  Tree<HostTensor> state;
  std::vector<double> of_x, of_weight, of_gradient;  // newest first
  const auto largest = [](const std::vector<double>& all) {
    double out = 0;
    for (size_t i = 0; i < std::min<size_t>(all.size(), 3); ++i) out = std::max(out, all[i]);
    return out;
  };
  const auto scale = [&](const std::vector<double>& all, double most) {
    return largest(all) > 0 ? 2 * largest(all) / most : 1;
  };
  for (const double factor : {1.0, 4.0, 0.5, 0.25, 0.125, 2.0}) {
    SCOPED_TRACE(factor);
    const OneCall r = one_call(cfg, state, factor);
    const Matrix x = fp8(r.x, scale(of_x, 448), Fp8Format::kE4M3),
                 weight = fp8(r.weight, scale(of_weight, 448), Fp8Format::kE4M3),
                 ct = fp8(r.cotangent, scale(of_gradient, 57344), Fp8Format::kE5M2);
    expect_near(r.y, product(x, weight));
    expect_near(r.by_x, product(ct, transposed(weight)));
    expect_near(r.by_weight, product(transposed(x), ct));

    const std::string at = "linear/product/";
    for (const auto& [name, past] :
         {std::pair("x", &of_x), {"weight", &of_weight}, {"gradient", &of_gradient}}) {
      const HostTensor& history = r.state.at(at + name + "_history");
      ASSERT_EQ(history.shape(), (Shape{3}));
      for (size_t i = 0; i < 3; ++i)
        EXPECT_NEAR(history.at(static_cast<int64_t>(i)), i < past->size() ? (*past)[i] : 0, 1e-6);
    }
    of_x.insert(of_x.begin(), amax(r.x));
    of_weight.insert(of_weight.begin(), amax(r.weight));
    of_gradient.insert(of_gradient.begin(), amax(r.cotangent));
    state = r.state;
    EXPECT_NEAR(state.at(at + "x_amax").at(0), of_x[0], 1e-6);
    EXPECT_NEAR(state.at(at + "weight_amax").at(0), of_weight[0], 1e-6);
    // The trainer sets this state to its gradient.
    EXPECT_FALSE(state.contains(at + "gradient_amax"));
    state.insert_or_assign(at + "gradient_amax", r.by_state.at(at + "gradient_amax"));
    EXPECT_NEAR(state.at(at + "gradient_amax").at(0), of_gradient[0], 1e-6);
  }
}

TEST(DelayedFp8Product, StateChangesOnlyInTraining) {
  auto layer = build_for_test<Linear>({.product = DelayedFp8Product::Config{}}, kQuantizedDims);
  EXPECT_TRUE(layer.call({{"x", normal_values({2, 3, kIn}, 3)}}).state.empty());
}

// Every product that rounds: a token's result does not depend on the other tokens of a call.
TEST(QuantizedProducts, TokensDoNotDependOnOtherTokensOfTheCall) {
  for (const Child<Product>& config :
       {Child<Product>(Int8Product::Config{}), Child<Product>(Fp8Product::Config{}),
        Child<Product>(DelayedFp8Product::Config{})}) {
    const std::string name(config.any().type().name);
    SCOPED_TRACE(name);
    auto layer = build_for_test<Linear>({.product = config}, kQuantizedDims);
    const HostTensor x = normal_values({2, 3, kIn}, 3);
    const HostTensor all = layer.run(x);
    for (int64_t t = 0; t < 3; ++t) {
      const HostTensor token = testing::detail::tokens_from(x, {t, t}, 1);
      EXPECT_ALLCLOSE(layer.run(token), testing::detail::tokens_from(all, {t, t}, 1));
    }
  }
}

MoE::Config experts(const Child<Product>& product, Child<Dispatch> dispatch) {
  const Linear::Config linear{.bias = false, .product = product};
  return {.num_experts = 3,
          .dispatch = std::move(dispatch),
          .hidden_dim = FixedDim{6},
          .gate = linear,
          .up = linear,
          .down = linear};
}
const CapacityDispatch::Config kEnough{.train_capacity_factor = 3.0, .eval_capacity_factor = 3.0};

// Results, gradients and new state of a training call.
struct ExpertsRun {
  std::vector<HostTensor> numbers;
  Tree<HostTensor> state, by_state;
};
ExpertsRun run_experts(const Child<Product>& product, const Child<Dispatch>& dispatch) {
  auto moe = build_for_test<MoE>(experts(product, dispatch), {.model_dim = 4});
  const HostTensor x = normal_values({2, 6, 4}, 3);
  const testing::LayerFunction fn = moe.function({{"x", x}}, {.training = true});
  ExpertsRun out{
      .numbers = testing::detail::results_and_gradients(fn), .state = {}, .by_state = {}};
  out.state = moe.call({{"x", x}}, {.training = true}).state;
  Tree<HostTensor> state;
  testing::add_initial_state(moe.layer(), state);
  const size_t first = fn.parameter_paths().size() + fn.input_paths().size();
  size_t next = first;
  for (const auto& [path, value] : state) out.by_state.emplace(path, out.numbers[next++]);
  return out;
}

void expect_close(const std::vector<HostTensor>& actual, const std::vector<HostTensor>& expected,
                  double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    EXPECT_LE(testing::relative_difference(actual[i], expected[i]), tolerance) << i;
}

TEST(QuantizedProducts, ExpertsDoNotDependOnTheDispatch) {
  // A scale of the whole tensor would be one of a token here and of an expert there.
  for (const Child<Product>& config :
       {Child<Product>(Int8Product::Config{}),
        Child<Product>(Fp8Product::Config{.gradient = std::nullopt, .scales = ScaleGroup::kRow}),
        Child<Product>(DelayedFp8Product::Config{})}) {
    SCOPED_TRACE(config.any().type().name);
    const ExpertsRun sorted = run_experts(config, SortedDispatch::Config{}),
                     blocks = run_experts(config, kEnough);
    expect_close(sorted.numbers, blocks.numbers, 1e-4);
    ASSERT_EQ(sorted.state.size(), blocks.state.size());
    for (const auto& [path, value] : sorted.state)
      EXPECT_ALLCLOSE(value, blocks.state.at(path)) << path;
  }
}

TEST(QuantizedProducts, ExpertsAreCloseToPlainOnes) {
  const ExpertsRun plain = run_experts(PlainProduct::Config{}, SortedDispatch::Config{});
  for (const Child<Product>& config :
       {Child<Product>(Int8Product::Config{}),
        Child<Product>(Int8Product::Config{.backward = Int8Backward::kInteger}),
        Child<Product>(Fp8Product::Config{})}) {
    SCOPED_TRACE(config.any().type().name);
    for (const Child<Dispatch>& dispatch :
         {Child<Dispatch>(SortedDispatch::Config{}), Child<Dispatch>(kEnough)}) {
      const ExpertsRun rounded = run_experts(config, dispatch);
      ASSERT_EQ(rounded.numbers.size(), plain.numbers.size());
      for (size_t i = 0; i < plain.numbers.size(); ++i) {
        const double error = testing::relative_difference(rounded.numbers[i], plain.numbers[i]);
        EXPECT_LT(error, 0.25) << i;
      }
    }
  }
}

TEST(DelayedFp8Product, ExpertsShareState) {
  for (const Child<Dispatch>& dispatch :
       {Child<Dispatch>(SortedDispatch::Config{}), Child<Dispatch>(kEnough)}) {
    const ExpertsRun r = run_experts(DelayedFp8Product::Config{}, dispatch);
    const std::string up = "mo_e/up/product/";
    EXPECT_NEAR(r.state.at(up + "x_amax").at(0),
                testing::largest_element(normal_values({2, 6, 4}, 3)), 1e-6);
    EXPECT_EQ(r.state.at(up + "x_history").shape(), (Shape{128}));
    EXPECT_GT(r.by_state.at(up + "gradient_amax").at(0), 0);
  }
}

}  // namespace
}  // namespace axle
