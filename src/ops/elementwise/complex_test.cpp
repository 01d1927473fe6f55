#include <gtest/gtest.h>

#include "ops/elementwise/elementwise.h"
#include "ops/ops.h"
#include "testing/error_without_lines.h"
#include "testing/host_tensors.h"
#include "testing/op_test.h"

namespace axle {
namespace {

using C = std::complex<float>;
using testing::run;

const HostTensor kValues({3}, {C(1, 2), C(-0.5, 0.25), C(0, 0)});

TEST(Complex, HasRealAndImaginaryParts) {
  EXPECT_EQ(run([](const Values& v) { return real(v[0]); }, {kValues}),
            HostTensor({3}, {1.f, -0.5f, 0.f}));
  EXPECT_EQ(run([](const Values& v) { return imag(v[0]); }, {kValues}),
            HostTensor({3}, {2.f, 0.25f, 0.f}));
  EXPECT_EQ(run([](const Values& v) { return complex(real(v[0]), imag(v[0])); }, {kValues}),
            kValues);
  EXPECT_EQ(run([](const Values& v) { return conj(v[0]); }, {kValues}),
            HostTensor({3}, {C(1, -2), C(-0.5, -0.25), C(0, -0.f)}));
}

TEST(Complex, HasAMagnitude) {
  const HostTensor magnitudes = run([](const Values& v) { return abs(v[0]); }, {kValues});
  testing::expect_near(magnitudes, HostTensor({3}, {2.236068f, 0.559017f, 0.f}), 1e-6);
}

TEST(Complex, PartsBroadcast) {
  const HostTensor z = run([](const Values& v) { return complex(v[0], v[1]); },
                           {HostTensor({2}, {1.f, 2.f}), HostTensor::scalar(3.f)});
  EXPECT_EQ(z, HostTensor({2}, {C(1, 3), C(2, 3)}));
}

TEST(Complex, IsConvertedToAndFromRealNumbers) {
  EXPECT_EQ(run([](const Values& v) { return astype(v[0], DType::kF32); }, {kValues}),
            HostTensor({3}, {1.f, -0.5f, 0.f}));
  EXPECT_EQ(run([](const Values& v) { return astype(v[0], DType::kC64); },
                {HostTensor({1}, {int32_t{3}})}),
            HostTensor({1}, {C(3, 0)}));
}

TEST(Complex, PartsOfF64MakeC128) {
  const HostTensor one = HostTensor::scalar(1.0);
  EXPECT_EQ(run([](const Values& v) { return complex(v[0], v[0]); }, {one}).dtype(), DType::kC128);
  EXPECT_EQ(run([](const Values& v) { return imag(complex(v[0], v[0])); }, {one}), one);
}

TEST(Complex, SaysWhatItExpects) {
  const auto error = [](const HostTensor& x, Tensor (*f)(const Tensor&)) {
    return error_without_lines<ShapeError>(
        [&] { run([&](const Values& v) { return f(v[0]); }, {x}); });
  };
  const HostTensor reals({2}, {1.f, 2.f});
  EXPECT_EQ(error(reals, real),
            "the top level: real: expected complex numbers, got f32; operands: f32[2] of the top "
            "level (parameter)");
  EXPECT_EQ(error(reals.astype(DType::kBF16), [](const Tensor& x) { return complex(x, x); }),
            "the top level: complex: expected parts of f32 or f64, got bf16; convert with astype; "
            "operands: bf16[2] of the top level (parameter), bf16[2] of the top level (parameter)");
}

}  // namespace
}  // namespace axle
