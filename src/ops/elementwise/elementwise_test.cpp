// Values of elementwise ops that neither finite differences nor reference numbers test.
#include <gmock/gmock.h>

#include "ops/ops.h"
#include "testing/error_without_lines.h"
#include "testing/host_tensors.h"
#include "testing/op_test.h"

namespace axle {
namespace {

using testing::counting;
using testing::elements;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using testing::run;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::string error_of_function(const std::function<Tensor(const Values&)>& fn,
                              const std::vector<HostTensor>& x) {
  return axle::error_without_lines<ShapeError>([&] { run(fn, x); });
}

// The numbers are from JAX 0.10.2, which puts the low half of a byte first.
TEST(Elementwise, FourBitIntegersHaveFourBits) {
  const auto cast = [](const HostTensor& x, DType dtype) {
    return run([&](const Values& v) { return bitcast_convert(v[0], dtype); }, {x});
  };
  const HostTensor bytes({2}, {int8_t{0x21}, int8_t{-1}});
  const HostTensor halves = cast(bytes, DType::kI4);
  EXPECT_EQ(halves.type(), (Type{DType::kI4, {2, 2}}));
  EXPECT_THAT(elements(halves.astype(DType::kI8)), ElementsAre(1, 2, -1, -1));
  EXPECT_EQ(cast(halves, DType::kI8), bytes);
  EXPECT_THAT(elements(cast(halves, DType::kU4).astype(DType::kU8)), ElementsAre(1, 2, 15, 15));
  const HostTensor word({1}, {int32_t{0x12345678}});
  const HostTensor digits = cast(word, DType::kU4);
  EXPECT_EQ(digits.type(), (Type{DType::kU4, {1, 8}}));
  EXPECT_THAT(elements(digits.astype(DType::kU8)), ElementsAre(8, 7, 6, 5, 4, 3, 2, 1));
  EXPECT_EQ(cast(digits, DType::kI32), word);
}

TEST(Elementwise, OperandsMustHaveOneDtype) {
  const std::string message = error_of_function([](const Values& v) { return v[0] + v[1]; },
                                                {counting({2}), counting({2}, DType::kI32)});
  EXPECT_THAT(message, HasSubstr("add: operands must have one dtype, got f32 and i32"));
  EXPECT_THAT(message, HasSubstr("operands: f32[2] of"));
}

TEST(Elementwise, OperandsMustBroadcast) {
  const std::string message = error_of_function([](const Values& v) { return v[0] < v[1]; },
                                                {counting({2, 3}), counting({2})});
  EXPECT_THAT(message, HasSubstr("lt: shapes [2, 3] and [2] do not broadcast"));
}

TEST(Elementwise, SignsOfUnsignedNumbersAre0And1) {
  const HostTensor x({4}, {0u, 1u, 7u, 4294967295u});
  EXPECT_EQ(run([](const Values& v) { return sign(v[0]); }, {x}),
            HostTensor({4}, {0u, 1u, 1u, 1u}));
  EXPECT_EQ(run([](const Values& v) { return abs(v[0]); }, {x}), x);
}

TEST(Elementwise, DtypesAreChecked) {
  const HostTensor p = HostTensor({2}, {true, false}), i = counting({2}, DType::kI32),
                   u = counting({2}, DType::kU32);
  EXPECT_THAT(error_of_function([](const Values& v) { return v[0] + v[0]; }, {p}),
              HasSubstr("expected numbers to compute with, got pred"));
  EXPECT_THAT(error_of_function([](const Values& v) { return exp(v[0]); }, {i}),
              HasSubstr("expected a floating-point operand, got i32"));
  EXPECT_THAT(error_of_function([](const Values& v) { return sign(v[0]); }, {p}),
              HasSubstr("expected numbers to compute with, got pred"));
  EXPECT_THAT(error_of_function([](const Values& v) { return logical_not(v[0]); }, {i}),
              HasSubstr("expected a predicate"));
  EXPECT_THAT(error_of_function([](const Values& v) { return select(v[0], v[0], v[0]); }, {i}),
              HasSubstr("expected a predicate first"));
  EXPECT_THAT(error_of_function([](const Values& v) { return integer_pow(v[0], -1); }, {i}),
              HasSubstr("expected a power of at least 0 for integers, got -1"));
  EXPECT_THAT(
      error_of_function([](const Values& v) { return bitcast_convert(v[0], DType::kU32); }, {p}),
      HasSubstr("predicates have no bits"));
}

TEST(Elementwise, NumbersTakeTheDtypeOfTheTensor) {
  const HostTensor y =
      run([](const Values& v) { return 7 - v[0] * 2; }, {counting({3}, DType::kI32)});
  EXPECT_EQ(y, HostTensor({3}, {7, 5, 3}));
  EXPECT_THAT(error_of_function([](const Values& v) { return v[0] + 0.5; }, {y}),
              HasSubstr("expected a whole number in the range of i32, got 0.5"));
  EXPECT_THAT(error_of_function([](const Values& v) { return v[0] + (int64_t{1} << 31); }, {y}),
              HasSubstr("expected a whole number in the range of i32, got 2147483648"));
  EXPECT_THAT(
      error_of_function([](const Values& v) { return astype(v[0], DType::kU32) + -1; }, {y}),
      HasSubstr("expected a whole number in the range of u32, got -1"));
}

TEST(Elementwise, PredicatesTakeOnlyZeroAndOne) {
  const HostTensor p({2}, {true, false});
  EXPECT_EQ(run([](const Values& v) { return equal(v[0], 0); }, {p}),
            HostTensor({2}, {false, true}));
  EXPECT_THAT(error_of_function([](const Values& v) { return equal(v[0], -3); }, {p}),
              HasSubstr("expected true or false, the values of a predicate, got -3"));
  EXPECT_THAT(error_of_function([](const Values& v) { return select(v[0], v[0], 0.1); }, {p}),
              HasSubstr("expected true or false, the values of a predicate, got 0.1"));
}

TEST(Elementwise, SelectBroadcastsAllThree) {
  const HostTensor p({2, 1}, {true, false});
  EXPECT_EQ(run([](const Values& v) { return select(v[0], v[1], -1); }, {p, counting({3})}),
            HostTensor({2, 3}, {0.f, 1.f, 2.f, -1.f, -1.f, -1.f}));
  EXPECT_EQ(run([](const Values& v) { return select(v[0], 5, v[1]); },
                {HostTensor::scalar(true), counting({2})}),
            HostTensor({2}, {5.f, 5.f}));
}

TEST(Elementwise, NanIsNotLost) {
  const HostTensor x({4}, {kNan, -1.f, kInf, 2.f});
  EXPECT_EQ(run([](const Values& v) { return is_nan(v[0]); }, {x}),
            HostTensor({4}, {true, false, false, false}));
  EXPECT_EQ(run(
                [](const Values& v) {
                  return is_nan(relu(v[0]) + maximum(v[0], 0) + clamp(-1, v[0], 1));
                },
                {x}),
            HostTensor({4}, {true, false, false, false}));
  EXPECT_EQ(run([](const Values& v) { return is_inf(v[0]); }, {x}),
            HostTensor({4}, {false, false, true, false}));
  EXPECT_FLOAT_EQ(
      run([](const Values& v) { return fraction_of(v[0] > 0); }, {x}).values<float>()[0], 0.5f);
}

TEST(Elementwise, InfinitiesOfEachDtype) {
  const HostTensor x({3}, {-kInf, kNan, 1.f});
  for (const DType dtype : {DType::kF64, DType::kF16, DType::kBF16, DType::kF8E5M2}) {
    EXPECT_EQ(run([&](const Values& v) { return is_inf(astype(v[0], dtype)); }, {x}),
              HostTensor({3}, {true, false, false}))
        << name_of(dtype);
  }
  // These have no infinities.
  for (const DType dtype : {DType::kF8E4M3FN, DType::kI8, DType::kU32, DType::kPred}) {
    EXPECT_EQ(run([&](const Values& v) { return is_inf(astype(v[0], dtype)); }, {x}),
              HostTensor({3}, {false, false, false}))
        << name_of(dtype);
  }
  EXPECT_EQ(run(
                [](const Values& v) {
                  return is_inf(complex(v[0], zeros_like(v[0]))) |
                         is_inf(complex(zeros_like(v[0]), v[0]));
                },
                {x}),
            HostTensor({3}, {true, false, false}));
}

TEST(Elementwise, LogarithmsOfPowersOfTwo) {
  const HostTensor x({5}, {0.25f, 1.f, 8.f, 0.f, -1.f});
  const std::vector<double> y = elements(run([](const Values& v) { return log2(v[0]); }, {x}));
  EXPECT_FLOAT_EQ(static_cast<float>(y[0]), -2);
  EXPECT_EQ(y[1], 0);
  EXPECT_FLOAT_EQ(static_cast<float>(y[2]), 3);
  EXPECT_EQ(y[3], -kInf);
  EXPECT_TRUE(std::isnan(y[4]));
}

TEST(Elementwise, MaximumAndMinimumOrderSignedZeros) {
  const HostTensor a({2}, {-0.f, 0.f}), b({2}, {0.f, -0.f});
  EXPECT_EQ(run([](const Values& v) { return maximum(v[0], v[1]); }, {a, b}),
            HostTensor({2}, {0.f, 0.f}));
  EXPECT_EQ(run([](const Values& v) { return minimum(v[0], v[1]); }, {a, b}),
            HostTensor({2}, {-0.f, -0.f}));
  EXPECT_EQ(run([](const Values& v) { return clamp(-0.0, v[0], 1); }, {a}),
            HostTensor({2}, {-0.f, 0.f}));
}

TEST(Elementwise, TheLeastIntegerHasNoAbsoluteValue) {
  const int8_t least = std::numeric_limits<int8_t>::min();
  EXPECT_EQ(run([](const Values& v) { return abs(v[0]); }, {HostTensor({2}, {least, int8_t{-3}})}),
            HostTensor({2}, {least, int8_t{3}}));
}

TEST(Elementwise, ConversionsSaturate) {
  const HostTensor x({5}, {1e20f, -1e20f, kNan, -1.9f, 3.f});
  const int32_t high = std::numeric_limits<int32_t>::max(),
                low = std::numeric_limits<int32_t>::min();
  EXPECT_EQ(run([](const Values& v) { return astype(v[0], DType::kI32); }, {x}),
            HostTensor({5}, {high, low, 0, -1, 3}));
}

TEST(Elementwise, SaturatingConversionsStayFinite) {
  const HostTensor x({7}, {500.f, -1e6f, kInf, -kInf, 3.3f, 460.f, 448.f});
  const auto to = [](DType dtype) {
    return [dtype](const Values& v) { return astype_saturating(v[0], dtype); };
  };
  EXPECT_THAT(elements(run(to(DType::kF8E4M3FN), {x})),
              ElementsAre(448, -448, 448, -448, 3.25, 448, 448));
  EXPECT_THAT(elements(run(to(DType::kF8E5M2), {x})),
              ElementsAre(512, -57344, 57344, -57344, 3.5, 448, 448));
  EXPECT_THAT(elements(run(to(DType::kF16), {x})),
              ElementsAre(500, -65504, 65504, -65504, 3.30078125, 460, 448));
  EXPECT_EQ(run(to(DType::kBF16), {x}).at(2), largest_number(DType::kBF16));
  EXPECT_EQ(run(to(DType::kF64), {x}).at(2), kInf);
  EXPECT_TRUE(std::isnan(run(to(DType::kF8E4M3FN), {HostTensor({1}, {kNan})}).at(0)));
  EXPECT_THAT(error_of_function(to(DType::kI8), {x}),
              HasSubstr("astype_saturating: expected floats, got f32 to i8"));
}

TEST(Elementwise, QuantizedNumbersComeBackRounded) {
  const HostTensor x({4}, {896.f, -3.3f, 1.f, 5000.f}), scale = HostTensor::scalar(2.f);
  const auto y = testing::run_all(
      [](const Values& v) {
        const Tensor q = quantize(v[0], v[1], DType::kF8E4M3FN);
        return Values{q, dequantize(q, v[1])};
      },
      {x, scale});
  EXPECT_EQ(y[0].dtype(), DType::kF8E4M3FN);
  EXPECT_THAT(elements(y[0]), ElementsAre(448, -1.625, 0.5, 448));
  EXPECT_EQ(y[1], HostTensor({4}, {896.f, -3.25f, 1.f, 896.f}));
}

TEST(Elementwise, BitsUnderAnotherDtype) {
  const HostTensor x({2}, {1.f, -2.f});
  EXPECT_EQ(run([](const Values& v) { return bitcast_convert(v[0], DType::kU32); }, {x}),
            HostTensor({2}, {0x3f800000u, 0xc0000000u}));
  const HostTensor halves =
      run([](const Values& v) { return bitcast_convert(v[0], DType::kBF16); }, {x});
  EXPECT_EQ(halves.shape(), (Shape{2, 2}));
  EXPECT_THAT(elements(halves), ElementsAre(0, 1, 0, -2));
  EXPECT_EQ(run([](const Values& v) { return bitcast_convert(v[0], DType::kF32); }, {halves}), x);
  // f64 mode still reinterprets the bits of f32.
  EXPECT_EQ(
      run([](const Values& v) { return bitcast_convert(v[0], DType::kU32); }, {x}, {.f64 = true})
          .values<uint32_t>()[0],
      0x3f800000u);
}

TEST(Elementwise, ReducedPrecision) {
  const HostTensor x({5}, {1.00390625f, 1.01171875f, 65520.f, 65519.f, 1e-6f});
  const auto rounded = [&](int e, int m) {
    return elements(run([&](const Values& v) { return reduce_precision(v[0], e, m); }, {x}));
  };
  EXPECT_THAT(rounded(8, 7), ElementsAre(1, 1.015625, 65536, 65536,
                                         BF16(1e-6f).bits ? double(float(BF16(1e-6f))) : 0));
  EXPECT_THAT(rounded(5, 10), ElementsAre(1.00390625, 1.01171875, kInf, 65504, 0));
}

// The numbers of jax.lax.reduce_precision: each dtype is rounded in its own format.
TEST(Elementwise, ReducedPrecisionRoundsInTheFormatOfTheDtype) {
  const auto rounded = [&](const HostTensor& x, int e, int m) {
    return elements(run([&](const Values& v) { return reduce_precision(v[0], e, m); }, {x}));
  };
  const double tiny = std::numeric_limits<double>::min();
  const HostTensor wide({5}, {1.1, 1e-300, tiny / 2, std::numeric_limits<double>::max(), -1e-40});
  EXPECT_THAT(rounded(wide, 11, 52), ElementsAreArray(elements(wide)));
  EXPECT_THAT(rounded(wide, 11, 23), ElementsAre(1.100000023841858, 9.999999917325623e-301,
                                                 tiny / 2, kInf, -9.999999744571597e-41));
  EXPECT_THAT(rounded(wide, 10, 30),
              ElementsAre(1.099999999627471, 0, 0, kInf, -1.000000000115701e-40));
  EXPECT_THAT(rounded(wide, 8, 23), ElementsAre(1.100000023841858, 0, 0, kInf, 0));
  EXPECT_TRUE(std::signbit(rounded(wide, 8, 23)[4]));
  // An exponent of as many bits as the dtype has keeps its subnormal numbers.
  const HostTensor half = HostTensor({4}, {0x1p-14, 0x1p-15, 0x1p-24, 65504.0}).astype(DType::kF16);
  EXPECT_THAT(rounded(half, 5, 10), ElementsAre(0x1p-14, 0x1p-15, 0x1p-24, 65504));
  EXPECT_THAT(rounded(half, 5, 2), ElementsAre(0x1p-14, 0x1p-15, 0, kInf));
  EXPECT_THAT(rounded(half, 4, 3), ElementsAre(0, 0, 0, kInf));
}

TEST(Elementwise, ShiftsBeyondTheWidth) {
  const HostTensor x({2}, {-8, 8}), n({2}, {32, 33});
  EXPECT_EQ(run([](const Values& v) { return shift_left(v[0], v[1]); }, {x, n}),
            HostTensor({2}, {0, 0}));
  EXPECT_EQ(run([](const Values& v) { return shift_right_arithmetic(v[0], v[1]); }, {x, n}),
            HostTensor({2}, {-1, 0}));
  EXPECT_EQ(run([](const Values& v) { return v[0] >> 1; }, {HostTensor({1}, {0x80000000u})}),
            HostTensor({1}, {0x40000000u}));
}

TEST(Elementwise, IntegersWrap) {
  const int32_t low = std::numeric_limits<int32_t>::min();
  EXPECT_EQ(run([](const Values& v) { return square(v[0]) + integer_pow(v[0], 3); },
                {HostTensor({2}, {low, -3})}),
            HostTensor({2}, {0, -18}));
}

TEST(ErrorFunction, InverseInF64IsExact) {
  const HostTensor x({7}, {0.0, 0.3, -0.7, 0.99, 0.9999999, 1 - 1e-12, -1 + 1e-15});
  const HostTensor back = run([](const Values& v) { return erf(erf_inv(v[0])); }, {x});
  testing::expect_near(back, x, 4e-16);
  // Where erf is flat, the complement is a stricter test: erfc(erf_inv(1 - 2^-40)) = 2^-40.
  const HostTensor tail =
      run([](const Values& v) { return erfc(erf_inv(v[0])); }, {HostTensor({1}, {1 - 0x1p-40})});
  EXPECT_NEAR(tail.at(0), 0x1p-40, 1e-13 * 0x1p-40);
}

TEST(ErrorFunction, InverseInF32IsNearTheTruth) {
  const HostTensor x =
      run([](const Values&) { return (astype(iota({199}, 0), DType::kF32) - 99) / 100; });
  const HostTensor y = run([](const Values& v) { return erf_inv(v[0]); }, {x});
  const HostTensor exact =
      run([](const Values& v) { return erf_inv(v[0]); }, {x.astype(DType::kF64)});
  for (int64_t i = 0; i < x.size(); ++i)
    EXPECT_NEAR(y.at(i), exact.at(i), 1e-6 * std::abs(exact.at(i))) << x.at(i);
}

TEST(Elementwise, SelectN) {
  const auto chosen = [](const HostTensor& which) {
    return elements(run(
        [](const Values& v) {
          const Tensor a = constant(HostTensor({4}, {1.f, 2.f, 3.f, 4.f}));
          return v[0].dtype() == DType::kPred ? select_n(v[0], {a, 10 * a})
                                              : select_n(v[0], {a, 10 * a, 100 * a});
        },
        {which}));
  };
  EXPECT_THAT(chosen(HostTensor({4}, {2, 0, 1, 9})), ElementsAre(100, 2, 30, 400));
  EXPECT_THAT(chosen(HostTensor::scalar(int32_t{1})), ElementsAre(10, 20, 30, 40));
  EXPECT_THAT(chosen(HostTensor({4}, {true, false, false, true})), ElementsAre(10, 2, 3, 40));
  Region region;
  const TraceScope scope(region);
  const Tensor x = zeros({2});
  EXPECT_THROW(select_n(zeros({2}, DType::kPred), {x, x, x}), ShapeError);
  EXPECT_THROW(select_n(x, {x, x}), ShapeError);
  EXPECT_THROW(select_n(zeros({2}, DType::kI32), {}), ShapeError);
}

}  // namespace
}  // namespace axle
