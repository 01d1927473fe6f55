// Reductions and sorting.
#include <gmock/gmock.h>

#include "base/error.h"
#include "ops/ops.h"
#include "testing/error_without_lines.h"
#include "testing/op_test.h"

namespace axle {
namespace {

using testing::counting;
using testing::elements;
using ::testing::ElementsAre;
using testing::run;
using testing::run_all;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(Reduce, AxesAndKeptDims) {
  const HostTensor x = counting({2, 3, 2});
  EXPECT_EQ(run(
                [](const Values& v) {
                  return reduce_sum(v[0], {-1, 0});
                },
                {x}),
            HostTensor({3}, {14.f, 22.f, 30.f}));
  EXPECT_EQ(run([](const Values& v) { return reduce_max(v[0], {1}, true); }, {x}),
            HostTensor({2, 1, 2}, {4.f, 5.f, 10.f, 11.f}));
  EXPECT_EQ(run([](const Values& v) { return reduce_prod(v[0], {}, true); }, {x}), x);
  EXPECT_EQ(run([](const Values& v) { return mean(v[0]); }, {x}), HostTensor::scalar(5.5f));
  EXPECT_EQ(run([](const Values& v) { return variance(v[0], {1}); }, {counting({1, 4})}),
            HostTensor({1}, {1.25f}));
  EXPECT_THROW(run([](const Values& v) { return reduce_sum(v[0], {0, -3}); }, {x}), ShapeError);
}

TEST(Reduce, EmptyReductionIsTheIdentity) {
  const HostTensor none = HostTensor::zeros({2, 0});
  EXPECT_THAT(elements(run([](const Values& v) { return reduce_sum(v[0], {1}); }, {none})),
              ElementsAre(0, 0));
  EXPECT_THAT(elements(run([](const Values& v) { return reduce_prod(v[0], {1}); }, {none})),
              ElementsAre(1, 1));
  EXPECT_THAT(elements(run([](const Values& v) { return reduce_max(v[0], {1}); }, {none})),
              ElementsAre(-kInf, -kInf));
  const double low = std::numeric_limits<int32_t>::min();
  EXPECT_THAT(elements(run([](const Values& v) { return reduce_max(v[0], {1}); },
                           {none.astype(DType::kI32)})),
              ElementsAre(low, low));
  EXPECT_THAT(elements(run([](const Values& v) { return reduce_and(v[0], {1}); },
                           {none.astype(DType::kU32)})),
              ElementsAre(4294967295., 4294967295.));
}

TEST(Reduce, XorOfPredicatesIsParityAndOfIntegersBitwise) {
  const auto reduced = [](const HostTensor& x) {
    return run([](const Values& v) { return reduce_xor(v[0], {1}); }, {x});
  };
  EXPECT_EQ(reduced(HostTensor({3, 3}, {true, true, true, true, false, true, false, true, false})),
            HostTensor({3}, {true, false, true}));
  EXPECT_EQ(reduced(HostTensor({2, 3}, {12, 10, -1, 7, 7, 5})), HostTensor({2}, {-7, 5}));
  EXPECT_EQ(reduced(HostTensor::zeros({2, 0}).astype(DType::kU8)),
            HostTensor::zeros({2}).astype(DType::kU8));
  EXPECT_EQ(error_without_lines<ShapeError>([&] {
              reduced(HostTensor::zeros({1, 1}));
            }),
            "the top level: reduce_xor: expected integers or predicates, got f32; operands: "
            "f32[1, 1] of the top level (parameter)");
}

TEST(Reduce, ExtremaOfADtypeWithoutInfinity) {
  const HostTensor x = HostTensor({2}, {-3.f, -5.f}).astype(DType::kF8E4M3FN);
  EXPECT_EQ(run([](const Values& v) { return reduce_max(v[0], {0}); }, {x}).at(0), -3);
  EXPECT_EQ(run([](const Values& v) { return reduce_min(v[0], {0}); }, {x}).at(0), -5);
}

TEST(Reduce, Bf16SumsAreRoundedOnce) {
  // In bf16 a running sum of ones would stop at 256.
  const HostTensor ones = HostTensor::ones({1000}, DType::kBF16);
  const HostTensor total = run([](const Values& v) { return sum(v[0]); }, {ones});
  EXPECT_EQ(total.dtype(), DType::kBF16);
  EXPECT_EQ(total.at(0), 1000);
  EXPECT_EQ(run([](const Values& v) { return index_in_dim(cumsum(v[0], 0), 0, -1); }, {ones}).at(0),
            1000);
  EXPECT_EQ(run([](const Values& v) { return mean(v[0]); }, {ones}).at(0), 1);
}

// As in JAX: jnp.mean([1, 2, 4, 200]) of bytes is 51.75, not the 1.75 of a sum that wraps.
TEST(Reduce, MeansOfIntegersAndPredicatesAreFloats) {
  const auto averages = [](const HostTensor& x) {
    return run_all(
        [](const Values& v) {
          return Values{mean(v[0]), mean(v[0], {0}, true), variance(v[0], {0})};
        },
        {x});
  };
  const HostTensor numbers({4}, {1, 2, 4, 200});
  for (const DType dtype : {DType::kU8, DType::kI16, DType::kI32, DType::kU32, DType::kI64}) {
    const DType expected = dtype == DType::kI64 ? DType::kF64 : DType::kF32;
    const auto y = averages(numbers.astype(dtype));
    EXPECT_EQ(y[0], HostTensor::scalar(51.75f).astype(expected));
    EXPECT_EQ(y[1], HostTensor({1}, {51.75f}).astype(expected));
    EXPECT_EQ(y[2], HostTensor::scalar(7327.1875f).astype(expected));
  }
  const auto y = averages(HostTensor({4}, {true, false, true, true}));
  EXPECT_EQ(y[0], HostTensor::scalar(0.75f));
  EXPECT_EQ(y[2], HostTensor::scalar(0.1875f));
}

TEST(Reduce, VariancesOfComplexNumbersAreReal) {
  using Complex = std::complex<float>;
  const HostTensor z({2}, {Complex(1, 2), Complex(3, -2)});
  EXPECT_EQ(run([](const Values& v) { return variance(v[0], {0}); }, {z}), HostTensor::scalar(5.f));
}

TEST(Argmax, FirstWinsAndNanWins) {
  const HostTensor x({3, 4},
                     {1.f, 3.f, 3.f, 0.f, 5.f, kNan, kNan, 9.f, -kInf, -kInf, -kInf, -kInf});
  EXPECT_EQ(run([](const Values& v) { return argmax(v[0]); }, {x}), HostTensor({3}, {1, 1, 0}));
  EXPECT_EQ(run([](const Values& v) { return argmin(v[0]); }, {x}), HostTensor({3}, {3, 1, 0}));
  EXPECT_EQ(run([](const Values& v) { return argmax(v[0], 0); }, {counting({2, 2}, DType::kI32)}),
            HostTensor({2}, {1, 1}));
}

TEST(Cumulative, BothDirections) {
  const HostTensor x({4}, {2.f, 1.f, 3.f, -1.f});
  EXPECT_THAT(elements(run([](const Values& v) { return cumsum(v[0], 0); }, {x})),
              ElementsAre(2, 3, 6, 5));
  EXPECT_THAT(elements(run([](const Values& v) { return cumsum(v[0], -1, true); }, {x})),
              ElementsAre(5, 3, 2, -1));
  EXPECT_THAT(elements(run([](const Values& v) { return cumprod(v[0], 0, true); }, {x})),
              ElementsAre(-6, -3, -3, -1));
  EXPECT_THAT(elements(run([](const Values& v) { return cummax(v[0], 0); }, {x})),
              ElementsAre(2, 2, 3, 3));
  EXPECT_THAT(elements(run([](const Values& v) { return cummin(v[0], 0); }, {x})),
              ElementsAre(2, 1, 1, -1));
  const auto y = elements(run([](const Values& v) { return exp(cumlogsumexp(log(v[0]), 0)); },
                              {HostTensor({3}, {2.0, 0.0, 3.0})}));
  EXPECT_NEAR(y[1], 2, 1e-12);
  EXPECT_NEAR(y[2], 5, 1e-12);
}

TEST(Softmax, LargeAndInfiniteLogits) {
  const HostTensor x({3, 2}, {1000.f, 1000.f, -kInf, 0.f, -2000.f, -1000.f});
  EXPECT_EQ(run([](const Values& v) { return softmax(v[0]); }, {x}),
            HostTensor({3, 2}, {0.5f, 0.5f, 0.f, 1.f, 0.f, 1.f}));
  const auto z = elements(run([](const Values& v) { return logsumexp(v[0]); }, {x}));
  EXPECT_NEAR(z[0], 1000 + std::log(2), 1e-4);
  EXPECT_EQ(z[1], 0);
  EXPECT_EQ(run([](const Values& v) { return logsumexp(v[0], 0, true); },
                {HostTensor({2}, {-kInf, -kInf})}),
            HostTensor({1}, {-kInf}));
  EXPECT_THAT(elements(run([](const Values& v) { return logaddexp(v[0], v[1]); },
                           {HostTensor({2}, {-kInf, kInf}), HostTensor({2}, {-kInf, kInf})})),
              ElementsAre(-kInf, kInf));
}

TEST(Sort, TotalOrderAndStability) {
  const HostTensor x({7}, {1.f, kNan, -0.f, kInf, 0.f, -kInf, -1.f});
  EXPECT_EQ(run([](const Values& v) { return argsort(v[0]); }, {x}),
            HostTensor({7}, {5, 6, 2, 4, 0, 3, 1}));
  EXPECT_EQ(run([](const Values& v) { return argsort(v[0], 0, SortOrder::kDescending); }, {x}),
            HostTensor({7}, {1, 3, 0, 2, 4, 6, 5}));
}

TEST(Sort, SeveralKeys) {
  const HostTensor first({4}, {1, 0, 1, 0}), second({4}, {2.f, 5.f, 1.f, 4.f}),
      payload({4}, {10u, 11u, 12u, 13u});
  const auto y =
      run_all([](const Values& v) { return sort_key_val(v, 0, 2); }, {first, second, payload});
  EXPECT_EQ(y[0], HostTensor({4}, {0, 0, 1, 1}));
  EXPECT_EQ(y[2], HostTensor({4}, {13u, 11u, 12u, 10u}));
}

TEST(TopK, HasTheTotalOrderOfFloats) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = INFINITY;
  const HostTensor x({7}, {-0.f, 0.f, -nan, -inf, 0.f, nan, inf});
  EXPECT_EQ(run([](const Values& v) { return top_k(v[0], 7).second; }, {x}),
            HostTensor({7}, {5, 6, 1, 4, 0, 3, 2}));
}

TEST(TopK, FirstOfEqualOnesFirst) {
  const HostTensor x({2, 4}, {1.f, 3.f, 3.f, 2.f, 0.f, 0.f, 0.f, 0.f});
  const auto y = run_all(
      [](const Values& v) {
        const auto [values, indices] = top_k(v[0], 3);
        return Values{values, indices};
      },
      {x});
  EXPECT_EQ(y[0], HostTensor({2, 3}, {3.f, 3.f, 2.f, 0.f, 0.f, 0.f}));
  EXPECT_EQ(y[1], HostTensor({2, 3}, {1, 2, 3, 0, 1, 2}));
  EXPECT_THROW(run([](const Values& v) { return top_k(v[0], 5).first; }, {x}), ShapeError);
}

}  // namespace
}  // namespace axle
