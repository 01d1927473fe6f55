// Samples of ops on complex numbers.
#pragma once

#include "testing/op_sample.h"

namespace axle::testing::samples {

/// Returns complex numbers, with both parts uniform over [-2, 2).
inline HostTensor complex_values(const Shape& shape, uint64_t seed = 1) {
  const HostTensor re = uniform(shape, -2, 2, seed), im = uniform(shape, -2, 2, seed + 100);
  HostTensor out(Type{DType::kC64, shape});
  const auto to = out.values<std::complex<float>>();
  for (size_t i = 0; i < to.size(); ++i) to[i] = {re.values<float>()[i], im.values<float>()[i]};
  return out;
}

inline void add_complex(std::vector<OpSample>& out) {
  const Shape s = {3, 4};
  const HostTensor z = complex_values(s), w = complex_values(s, 2);
  out.push_back(one("real", z, real));
  out.push_back(one("imag", z, imag));
  out.push_back(one("complex", z, conj));
  out.push_back(two("complex", uniform(s), uniform(s, -2, 2, 9), complex));
  out.push_back(one("abs", z, abs));
  out.push_back(one("neg", z, operator-));
  out.push_back(one("square", z, square));
  out.push_back(two("add", z, w, operator+));
  out.push_back(two("sub", z, w, operator-));
  out.push_back(two("mul", z, w, operator*));
  out.push_back(two("div", z, w, operator/));
  out.push_back(two("eq", z, z, equal));
  out.push_back(two("ne", z, w, not_equal));
  out.push_back(
      call("select", {mask(s), z, w}, [](const Values& v) { return select(v[0], v[1], v[2]); }));
  out.push_back(call("convert", {z}, [](const Values& v) { return astype(v[0], DType::kF32); }));
  out.push_back(
      call("convert", {uniform(s)}, [](const Values& v) { return astype(v[0], DType::kC64); }));
  out.push_back(call("reduce_sum", {z}, [](const Values& v) { return reduce_sum(v[0], {1}); }));
  out.push_back(call("transpose", {z}, [](const Values& v) { return transpose(v[0], {1, 0}); }));
  out.push_back(two("dot_general", z, complex_values({4, 2}),
                    [](const Tensor& a, const Tensor& b) { return dot(a, b); }));
  out.push_back({"sort", {integers(s), z}, [](const Values& v) { return sort_key_val(v, 1); }});
  out.push_back(call("gather", {z, HostTensor({2}, {2, 0})},
                     [](const Values& v) { return take(v[0], v[1], 0); }));
  out.push_back(call("constant", {}, [z](const Values&) { return constant(z); }));
  out.push_back(call("fft", {z}, [](const Values& v) { return fft(v[0]); }));
  out.push_back(
      call("fft", {complex_values({2, 6})}, [](const Values& v) { return ifft(v[0], 2); }));
  for (const int64_t n : {5, 6}) {
    const HostTensor x = uniform({2, 3, n});
    const HostTensor half = complex_values({2, 3, n / 2 + 1});
    for (const int64_t dims : {1, 2, 3}) {
      out.push_back(call("fft", {x}, [dims](const Values& v) { return rfft(v[0], dims); }));
      out.push_back(
          call("fft", {half}, [n, dims](const Values& v) { return irfft(v[0], n, dims); }));
    }
  }
}

}  // namespace axle::testing::samples
