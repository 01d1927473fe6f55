// Products of the interpreter against sums written out, to the last bit.
#include "ops/products/dot_eval.h"

#include <gtest/gtest.h>

namespace axle {
namespace {

// Sizes near the sizes of registers, strips and blocks.
constexpr int64_t kBatch = 3, kM = 45, kN = 71, kK = 300;

template <class T>
HostTensor numbers(const Shape& shape, uint32_t seed) {
  HostTensor out(Type{dtype_of<T>(), shape});
  uint32_t bits = seed;
  for (T& v : out.values<T>()) {
    bits = bits * 1664525 + 1013904223;
    v = convert_element<T>(static_cast<float>(bits >> 16) / 256.0F - 128.0F);
  }
  return out;
}

// Returns sum over k of a[g, m, k] b[g, k, n], with the operands' dims where `a_dims` and `b_dims`
// put them: [g, m, k] and [g, k, n] in the order of memory.
template <class T, class Sum>
std::vector<Sum> written_out(const HostTensor& a, const Shape& a_dims, const HostTensor& b,
                             const Shape& b_dims) {
  const Shape a_strides = row_major_strides(a.shape()), b_strides = row_major_strides(b.shape());
  const auto at = [](const Shape& strides, const Shape& dims, std::array<int64_t, 3> index) {
    int64_t sum = 0;
    for (size_t i = 0; i < 3; ++i) sum += strides[dims[i]] * index[i];
    return static_cast<size_t>(sum);
  };
  std::vector<Sum> out;
  for (int64_t g = 0; g < kBatch; ++g) {
    for (int64_t m = 0; m < kM; ++m) {
      for (int64_t n = 0; n < kN; ++n) {
        Sum sum = 0;
        for (int64_t k = 0; k < kK; ++k) {
          const auto x = convert_element<Sum>(a.values<T>()[at(a_strides, a_dims, {g, m, k})]);
          const auto y = convert_element<Sum>(b.values<T>()[at(b_strides, b_dims, {g, k, n})]);
          sum += x * y;
        }
        out.push_back(sum);
      }
    }
  }
  return out;
}

Shape placed(const Shape& sizes, const Shape& dims) {
  Shape out(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) out[dims[i]] = sizes[i];
  return out;
}

template <class T, class Sum = T>
void expect_products_are_sums() {
  const std::vector<Shape> orders = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {2, 1, 0}, {1, 2, 0}};
  for (const Shape& a_dims : orders) {
    for (const Shape& b_dims : orders) {
      const HostTensor a = numbers<T>(placed({kBatch, kM, kK}, a_dims), 1);
      const HostTensor b = numbers<T>(placed({kBatch, kK, kN}, b_dims), 2);
      HostTensor y(Type{dtype_of<Sum>(), {kBatch, kM, kN}});
      eval_dot({.a_contracting = {a_dims[2]},
                .b_contracting = {b_dims[1]},
                .a_batch = {a_dims[0]},
                .b_batch = {b_dims[0]}},
               a, b, y);
      const auto expected = written_out<T, Sum>(a, a_dims, b, b_dims);
      const auto actual = y.values<Sum>();
      EXPECT_TRUE(std::ranges::equal(actual, expected))
          << to_text(a.type()) << " times " << to_text(b.type());
    }
  }
}

TEST(DotEval, SumsInOrderInF32) { expect_products_are_sums<float>(); }
TEST(DotEval, SumsInOrderInF64) { expect_products_are_sums<double>(); }
TEST(DotEval, SumsBf16InF32) { expect_products_are_sums<BF16, float>(); }
TEST(DotEval, WrapsIntegers) { expect_products_are_sums<uint32_t>(); }

TEST(DotEval, IsTheSameForOneRowAndForMany) {
  const HostTensor a = numbers<float>({kM, kK}, 3), b = numbers<float>({kK, kN}, 4);
  HostTensor all(Type{DType::kF32, {kM, kN}});
  const DotDims dims{.a_contracting = {1}, .b_contracting = {0}, .a_batch = {}, .b_batch = {}};
  eval_dot(dims, a, b, all);
  for (int64_t m = 0; m < kM; ++m) {
    const auto row = a.values<float>().subspan(m * kK, kK);
    HostTensor one(Type{DType::kF32, {1, kN}});
    eval_dot(dims, HostTensor({1, kK}, row), b, one);
    EXPECT_TRUE(std::ranges::equal(one.values<float>(), all.values<float>().subspan(m * kN, kN)));
  }
}

TEST(DotEval, EmptySumIsZero) {
  HostTensor y = HostTensor::ones({2, 3});
  eval_dot({.a_contracting = {1}, .b_contracting = {0}, .a_batch = {}, .b_batch = {}},
           HostTensor::zeros({2, 0}), HostTensor::zeros({0, 3}), y);
  EXPECT_EQ(y, HostTensor::zeros({2, 3}));
}

}  // namespace
}  // namespace axle
