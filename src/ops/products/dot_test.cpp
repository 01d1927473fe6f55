#include "ops/create.h"
#include "ops/products/products.h"
#include "testing/error_without_lines.h"
#include "testing/host_tensors.h"
#include "testing/op_test.h"

namespace axle {
namespace {

using testing::counting;
using testing::expect_near;
using testing::normal_values;
using testing::relative_difference;
using testing::run;

// Returns sum_k a[g, m, k] * b[g, k, n], computed in double, one element at a time.
HostTensor batched_product(const HostTensor& a, const HostTensor& b) {
  const int64_t batch = a.shape()[0], m = a.shape()[1], k = a.shape()[2], n = b.shape()[2];
  HostTensor y(Type{DType::kF64, {batch, m, n}});
  const auto out = y.values<double>();
  for (int64_t g = 0; g < batch; ++g) {
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t c = 0; c < k; ++c)
          sum += a.at((g * m + i) * k + c) * b.at((g * k + c) * n + j);
        out[(g * m + i) * n + j] = sum;
      }
    }
  }
  return y;
}

const DotDims kBatched{.a_contracting = {2}, .b_contracting = {1}, .a_batch = {0}, .b_batch = {0}};

HostTensor run_batched(const HostTensor& a, const HostTensor& b, const DotOptions& options = {},
                       const EvalOptions& eval = {}) {
  return run([&](const Values& v) { return dot_general(v[0], v[1], kBatched, options); }, {a, b},
             eval);
}

// Sizes are near the block sizes of rows and columns, or large enough for the second thread.
TEST(Dot, AgreesWithPlainLoops) {
  struct Case {
    int64_t batch, m, n, k;
  };
  for (const Case& c : {Case{1, 1, 1, 1},
                        {2, 3, 5, 4},
                        {3, 5, 8, 7},
                        {1, 4, 9, 16},
                        {2, 9, 17, 3},
                        {2, 67, 70, 65},
                        {3, 1, 33, 40}}) {
    const HostTensor a = normal_values({c.batch, c.m, c.k}, 1),
                     b = normal_values({c.batch, c.k, c.n}, 2);
    const HostTensor expected = batched_product(a, b);
    expect_near(run_batched(a, b), expected, 1e-4);
    expect_near(run_batched(a, b, {}, {.f64 = true}), expected, 1e-12);
    const HostTensor a16 = a.astype(DType::kBF16), b16 = b.astype(DType::kBF16);
    const HostTensor exact16 = batched_product(a16, b16);
    expect_near(run_batched(a16, b16, {.result_dtype = DType::kF32}), exact16, 1e-4);
    const HostTensor rounded = run_batched(a16, b16);
    EXPECT_EQ(rounded.dtype(), DType::kBF16);
    for (int64_t i = 0; i < rounded.size(); ++i) {
      ASSERT_NEAR(rounded.at(i), exact16.at(i), std::abs(exact16.at(i)) / 256 + 1e-4);
    }
  }
}

TEST(Dot, IntegersWrapAround) {
  const HostTensor a({1, 2}, {int32_t{1} << 30, 3}), b({2, 1}, {4, -5});
  EXPECT_EQ(run([](const Values& v) { return dot(v[0], v[1]); }, {a, b}),
            HostTensor({1, 1}, {int32_t{-15}}));
}

TEST(Dot, EmptyContractionIsZero) {
  const auto y = run([](const Values&) { return dot(zeros({2, 0}), zeros({0, 3})); });
  EXPECT_EQ(y, HostTensor::zeros({2, 3}));
}

TEST(Dot, TakesTheLastDimAndTheFirst) {
  const HostTensor x = counting({2, 3, 4}), w = counting({4, 5, 6});
  const HostTensor y = run([](const Values& v) { return dot(v[0], v[1]); }, {x, w});
  const HostTensor flat = batched_product(x.reshaped({1, 6, 4}), w.reshaped({1, 4, 30}));
  EXPECT_EQ(y.astype(DType::kF64), flat.reshaped({2, 3, 5, 6}));
}

TEST(Dot, ComplexNumbersAreNotConjugated) {
  using C = std::complex<float>;
  const HostTensor a({1, 2}, {C(1, 2), C(0, -1)}), b({2, 1}, {C(3, -1), C(2, 5)});
  EXPECT_EQ(run([](const Values& v) { return dot(v[0], v[1]); }, {a, b}),
            HostTensor({1, 1}, {C(10, 3)}));
}

TEST(Dot, NamesTheDimsThatDiffer) {
  Region region;
  const TraceScope scope(region);
  const NameScope layer("decoder/q_proj");
  const Tensor x = region.add_parameter({DType::kF32, {2, 3, 512}}, "x");
  const Tensor w = region.add_parameter({DType::kF32, {256, 4}}, "decoder/q_proj/weight");
  const std::string message = error_without_lines<ShapeError>([&] { dot(x, w); });
  EXPECT_THAT(message,
              ::testing::HasSubstr("contracting dims differ, x[2] = 512 and weight[0] = 256"));
  EXPECT_THAT(message, ::testing::StartsWith("decoder/q_proj: "));
  EXPECT_THROW(dot(x, zeros({512, 2}, DType::kBF16)), ShapeError);
  EXPECT_THROW(dot(x, scalar(1)), ShapeError);
  EXPECT_THROW(dot_general(x, x, {.a_contracting = {0, 0}, .b_contracting = {0, 0}}), ShapeError);
  EXPECT_THROW(dot_general(x, x, {.a_contracting = {3}, .b_contracting = {0}}), ShapeError);
  EXPECT_THROW(dot(zeros({2, 2}, DType::kPred), zeros({2, 2}, DType::kPred)), ShapeError);
}

TEST(Dot, FlopsCountMultiplicationsAndAdditions) {
  Region region;
  const TraceScope scope(region);
  const Tensor y = dot_general(zeros({2, 3, 4}), zeros({2, 4, 5}), kBatched);
  EXPECT_EQ(y.node()->rules->row().cost.flops(*y.node()), 2.0 * 2 * 3 * 5 * 4);
}

TEST(Dot, NarrowIntegersMayHaveAWideSum) {
  const HostTensor a = HostTensor({1, 2}, {100, -100}).astype(DType::kI8),
                   b = HostTensor({2, 1}, {100, 100}).astype(DType::kI8);
  const auto product = [](DType dtype) {
    return [dtype](const Values& v) { return dot(v[0], v[1], {.result_dtype = dtype}); };
  };
  EXPECT_EQ(run(product(DType::kI32), {a, a.reshaped({2, 1})}), HostTensor({1, 1}, {20000}));
  EXPECT_EQ(run(product(DType::kI8), {a, a.reshaped({2, 1})}).at(0), 20000 % 256);
  EXPECT_EQ(run(product(DType::kI32), {a, b}), HostTensor({1, 1}, {0}));
}

// The error of a product of f32 operands by each algorithm, relative to the largest element.
TEST(Dot, AlgorithmsRoundTheOperands) {
  const HostTensor a = normal_values({1, 8, 64}, 1), b = normal_values({1, 64, 8}, 2);
  const HostTensor exact = batched_product(a, b);
  const auto difference = [&](DotAlgorithm algorithm, DType result = DType::kF32) {
    return relative_difference(run_batched(a, b, {.result_dtype = result, .algorithm = algorithm}),
                               exact);
  };
  using enum DotAlgorithm;
  const double full = difference(kF32F32F32), bf16 = difference(kBF16BF16F32),
               bf16_x3 = difference(kBF16BF16F32X3), tf32 = difference(kTF32TF32F32);
  EXPECT_LT(full, 5e-7);
  EXPECT_GT(bf16, 2e-4);
  EXPECT_LT(bf16, 8e-3);
  EXPECT_GT(bf16, 4 * tf32);
  EXPECT_GT(tf32, 4 * bf16_x3);
  EXPECT_GT(bf16_x3, 4 * full);
  EXPECT_LT(difference(kBF16BF16F32X6), 1e-6);
  EXPECT_LT(difference(kBF16BF16F32X9), 1e-6);
  EXPECT_LT(difference(kTF32TF32F32X3), 1e-6);
  EXPECT_GT(difference(kBF16BF16BF16, DType::kBF16), 1e-3);
}

// Rounding the operands by hand gives the same product; infinities survive the split into parts.
TEST(Dot, AlgorithmsAreSumsOfRoundedProducts) {
  const HostTensor a = normal_values({1, 8, 64}, 1), b = normal_values({1, 64, 8}, 2);
  const auto rounded = [](const HostTensor& x) {
    return x.astype(DType::kBF16).astype(DType::kF32);
  };
  EXPECT_EQ(run_batched(a, b, {.algorithm = DotAlgorithm::kBF16BF16F32}),
            run_batched(rounded(a), rounded(b)));
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(run_batched(HostTensor({1, 1, 1}, {inf}), HostTensor({1, 1, 1}, {2.f}),
                        {.algorithm = DotAlgorithm::kBF16BF16F32}),
            HostTensor({1, 1, 1}, {inf}));
}

TEST(Dot, NamesTheRequirementsOfAnAlgorithm) {
  const auto error = [](DType operand, const DotOptions& options) {
    const HostTensor x = HostTensor::ones({2, 2}, operand);
    const std::string text = error_without_lines<ShapeError>(
        [&] { run([&](const Values& v) { return dot(v[0], v[0], options); }, {x}); });
    return text.substr(0, text.find("; operands"));
  };
  EXPECT_EQ(
      error(DType::kF32, {.algorithm = DotAlgorithm::kF16F16F32}),
      "the top level: dot_general: algorithm F16_F16_F32 expects operands of f16, got f32 and "
      "f32");
  EXPECT_EQ(
      error(DType::kF32, {.result_dtype = DType::kBF16, .algorithm = DotAlgorithm::kBF16BF16F32}),
      "the top level: dot_general: algorithm BF16_BF16_F32 of f32 operands gives f32, got a "
      "bf16 result");
  EXPECT_EQ(
      error(DType::kF32, {.precision = Precision::kHighest, .algorithm = DotAlgorithm::kF32F32F32}),
      "the top level: dot_general: expected a precision or an algorithm, got both");
  EXPECT_EQ(error(DType::kI32, {.result_dtype = DType::kF32}),
            "the top level: dot_general: cannot multiply i32 operands to a f32 result");
}

}  // namespace
}  // namespace axle
