// The values are from numpy.fft.
#include <gtest/gtest.h>

#include "ops/ops.h"
#include "ops/products/products.h"
#include "testing/error_without_lines.h"
#include "testing/host_tensors.h"
#include "testing/op_test.h"

namespace axle {
namespace {

using C = std::complex<double>;
using testing::expect_near;
using testing::random_tensor;
using testing::run;

const HostTensor kComplex({3}, {C(1, 2), C(0, -0.5), C(2, 0)});
const HostTensor kReal({5}, {1.0, 2.0, -1.0, 0.5, 3.0});

TEST(Fft, TransformsComplexNumbers) {
  const HostTensor expected({3}, {C(3, 1.5), C(-0.4330127018922193, 3.982050807568877),
                                  C(0.4330127018922193, 0.5179491924311228)});
  expect_near(run([](const Values& v) { return fft(v[0]); }, {kComplex}), expected, 1e-14);
}

TEST(Fft, TransformsRealNumbers) {
  const HostTensor expected({3}, {C(5.5, 0), C(2.949593469062211, 1.8327343947338632),
                                  C(-3.199593469062211, -0.8387995221502571)});
  expect_near(run([](const Values& v) { return rfft(v[0]); }, {kReal}), expected, 1e-14);
}

TEST(Fft, InverseOfRealNumbersHasTwoSizes) {
  expect_near(run([](const Values& v) { return irfft(v[0]); }, {kComplex}),
              HostTensor({4}, {0.75, 0.0, 0.75, -0.5}), 1e-14);
  const HostTensor five({5}, {1.0, -0.25700229224092724, 0.5647706459584526, 0.32965654504146336,
                              -0.6374248987589888});
  expect_near(run([](const Values& v) { return irfft(v[0], 5); }, {kComplex}), five, 1e-14);
}

TEST(Fft, TransformsTwoDims) {
  const HostTensor x = testing::counting({2, 3}, DType::kF64);
  const HostTensor expected({2, 2}, {C(15, 0), C(-3, 1.7320508075688772), C(-9, 0), C(0, 0)});
  expect_near(run([](const Values& v) { return rfft(v[0], 2); }, {x}), expected, 1e-14);
}

// Sizes with one, several and large prime factors.
TEST(Fft, InverseRestoresTheInput) {
  for (const int64_t n : {1, 2, 8, 12, 17, 35, 101}) {
    SCOPED_TRACE(n);
    const HostTensor z = random_tensor({DType::kC128, {2, 3, n}}, 1);
    const HostTensor x = random_tensor({DType::kF64, {2, 3, n}}, 2);
    for (const int64_t dims : {1, 2, 3}) {
      expect_near(run([&](const Values& v) { return ifft(fft(v[0], dims), dims); }, {z}), z, 1e-13);
      expect_near(run([&](const Values& v) { return irfft(rfft(v[0], dims), n, dims); }, {x}), x,
                  1e-13);
    }
  }
}

TEST(Fft, RealTransformIsHalfOfTheComplexOne) {
  const HostTensor x = random_tensor({DType::kF64, {3, 10}}, 3);
  const HostTensor whole =
      run([](const Values& v) { return slice_in_dim(fft(astype(v[0], DType::kC128), 2), 1, 0, 6); },
          {x});
  expect_near(run([](const Values& v) { return rfft(v[0], 2); }, {x}), whole, 1e-13);
}

TEST(Fft, F32IsComputedInF64AndRoundedOnce) {
  const HostTensor x = kReal.astype(DType::kF32);
  const HostTensor y = run([](const Values& v) { return rfft(v[0]); }, {x});
  EXPECT_EQ(y, run([](const Values& v) { return rfft(v[0]); }, {kReal}).astype(DType::kC64));
}

TEST(Fft, SaysWhatItExpects) {
  const auto error = [](const HostTensor& x, const std::function<Tensor(const Tensor&)>& f) {
    return error_without_lines<ShapeError>(
        [&] { run([&](const Values& v) { return f(v[0]); }, {x}); });
  };
  EXPECT_EQ(error(kReal, [](const Tensor& x) { return fft(x); }),
            "the top level: fft: expected c64 or c128, got f64; operands: f64[5] of the top level "
            "(parameter)");
  EXPECT_EQ(error(kComplex, [](const Tensor& x) { return rfft(x); }),
            "the top level: fft: expected f32 or f64, got c128; operands: c128[3] of the top level "
            "(parameter)");
  EXPECT_EQ(error(kComplex, [](const Tensor& x) { return irfft(x, 6); }),
            "the top level: fft: expected last dims [4] of at least one element, got [3]; "
            "operands: c128[3] of the top level (parameter)");
  EXPECT_EQ(error(kComplex, [](const Tensor& x) { return ifft(x, 2); }),
            "the top level: ifft: expected 1 to 3 dims to transform, got 2; operands: c128[3] of "
            "the top level (parameter)");
}

}  // namespace
}  // namespace axle
