#include <gmock/gmock.h>

#include "ops/products/products.h"
#include "testing/error_without_lines.h"
#include "testing/op_test.h"

namespace axle {
namespace {

using testing::run;
using testing::run_all;

TEST(RaggedDot, MultipliesEachRowByTheMatrixOfItsGroup) {
  const HostTensor rows({5, 2}, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f, 7.f, 8.f, 9.f, 10.f});
  const HostTensor matrices({3, 2, 1}, {1.f, 1.f, 10.f, 10.f, 100.f, -100.f});
  const auto y = run_all([](const Values& v) { return Values{ragged_dot(v[0], v[1], v[2])}; },
                         {rows, matrices, HostTensor({3}, {1, 0, 3})});
  EXPECT_EQ(y[0], HostTensor({5, 1}, {3.f, -100.f, -100.f, -100.f, 0.f}));
}

TEST(RaggedDot, ContractsOverTheRowsOfEachGroup) {
  const HostTensor a({4, 1}, {1.f, 2.f, 3.f, 4.f}),
      b({4, 2}, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f, 7.f, 8.f});
  const auto y =
      run_all([](const Values& v) { return Values{ragged_dot_contracting(v[0], v[1], v[2])}; },
              {a, b, HostTensor({3}, {2, 0, 1})});
  EXPECT_EQ(y[0], HostTensor({3, 1, 2}, {7.f, 10.f, 0.f, 0.f, 15.f, 18.f}));
}

TEST(RaggedDot, SizesMayCountMoreRowsThanThereAre) {
  const auto y = run_all([](const Values& v) { return Values{ragged_dot(v[0], v[1], v[2])}; },
                         {HostTensor::ones({3, 1}), HostTensor({3, 1, 1}, {1.f, 2.f, 3.f}),
                          HostTensor({3}, {2, 5, 5})});
  EXPECT_EQ(y[0], HostTensor({3, 1}, {1.f, 1.f, 2.f}));
}

TEST(RaggedDot, SizesBelowZeroCountAsZero) {
  const auto y = run_all([](const Values& v) { return Values{ragged_dot(v[0], v[1], v[2])}; },
                         {HostTensor::ones({3, 1}), HostTensor({3, 1, 1}, {1.f, 2.f, 3.f}),
                          HostTensor({3}, {2, -1, 1})});
  EXPECT_EQ(y[0], HostTensor({3, 1}, {1.f, 1.f, 3.f}));
}

TEST(RaggedDot, SumsOf16BitNumbersAreF32) {
  // 512 ones: a sum in bf16 would stop at 256.
  const HostTensor ones = HostTensor::ones({512, 1}, DType::kBF16);
  const auto y = run_all(
      [](const Values& v) {
        return Values{ragged_dot_contracting(v[0], v[0], v[1], {.result_dtype = DType::kF32}),
                      ragged_dot_contracting(v[0], v[0], v[1])};
      },
      {ones, HostTensor({1}, {512})});
  EXPECT_EQ(y[0].at(0), 512);
  EXPECT_EQ(y[1], HostTensor::full({1, 1, 1}, 512, DType::kBF16));
}

std::string error(const std::vector<Type>& types, const DotOptions& options = {}) {
  std::vector<HostTensor> x;
  for (const Type& type : types) x.emplace_back(type);
  return error_without_lines<ShapeError>(
      [&] { run([&](const Values& v) { return ragged_dot(v[0], v[1], v[2], options); }, x); });
}

TEST(RaggedDot, SaysWhatDoesNotFit) {
  using ::testing::HasSubstr;
  const Type rows{DType::kF32, {5, 4}}, matrices{DType::kF32, {3, 4, 2}}, sizes{DType::kI32, {3}};
  EXPECT_THAT(error({rows, rows, sizes}),
              HasSubstr("ragged_dot: expected [m, k] x [g, k, n] with sizes [g], or a batch dim"));
  EXPECT_THAT(
      error({rows, matrices, {DType::kI32, {2}}}),
      HasSubstr("ragged_dot: expected a second operand of [2, 4, 2], got [3, 4, 2]; operands: "
                "f32[5, 4] of the top level (parameter), f32[3, 4, 2] of"));
  EXPECT_THAT(error({{DType::kF32, {7, 5, 4}}, matrices, {DType::kI32, {6, 3}}}),
              HasSubstr("ragged_dot: expected group sizes for 7 batches, got 6"));
  EXPECT_THAT(error_without_lines<ShapeError>([&] {
                run([](const Values& v) { return ragged_dot_contracting(v[0], v[1], v[2]); },
                    {HostTensor(rows), HostTensor({DType::kF32, {6, 2}}), HostTensor(sizes)});
              }),
              HasSubstr("ragged_dot_contracting: expected a second operand of [5, 2], got [6, 2]"));
  EXPECT_THAT(error({rows, matrices, {DType::kI64, {3}}}),
              HasSubstr("ragged_dot: expected i32 group sizes, got i64"));
  EXPECT_THAT(error({rows, {DType::kBF16, {3, 4, 2}}, sizes}),
              HasSubstr("ragged_dot: expected floats of one dtype, got f32 and bf16"));
  EXPECT_THAT(error({rows, matrices, sizes}, {.algorithm = DotAlgorithm::kBF16BF16BF16}),
              HasSubstr("algorithm BF16_BF16_BF16 of f32 operands gives bf16, got a f32 result"));
}

}  // namespace
}  // namespace axle
