// Gradients against finite differences, in f64 on the interpreter.
#pragma once

#include <gtest/gtest.h>

#include "ir/eval.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reductions/reductions.h"
#include "testing/host_tensors.h"
#include "transform/grad.h"
#include "transform/trace.h"

namespace axle::testing {

/// Returns <a, b> over the floating-point tensors of both lists, in f64. Of complex numbers it is
/// the real part of the sum of products, without conjugation (ops/elementwise/elementwise.h).
inline double inner_product(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!is_differentiable(a[i].dtype())) continue;
    const HostTensor p = real_parts(a[i]), q = real_parts(b[i]);
    const bool has_imaginary = is_complex(a[i].dtype());
    for (int64_t j = 0; j < p.size(); ++j)
      sum += (has_imaginary && j % 2 == 1 ? -1 : 1) * p.at(j) * q.at(j);
  }
  return sum;
}

inline std::vector<HostTensor> moved(const std::vector<HostTensor>& x,
                                     const std::vector<HostTensor>& v, double eps) {
  std::vector<HostTensor> out;
  for (size_t i = 0; i < x.size(); ++i) {
    out.push_back(x[i].astype(exact_dtype(x[i].dtype())));
    if (!is_differentiable(x[i].dtype())) continue;
    dispatch_any(out.back().dtype(), [&]<class T>(std::type_identity<T>) {
      if constexpr (std::is_same_v<T, double> || std::is_same_v<T, std::complex<double>>) {
        const auto to = out.back().values<T>();
        const auto direction = v[i].values<T>();
        for (size_t j = 0; j < to.size(); ++j) to[j] += eps * direction[j];
      }
    });
  }
  return out;
}

/// Rounds to bf16, so that every floating-point dtype holds the value exactly.
inline HostTensor rounded(const HostTensor& x) {
  if (!is_differentiable(x.dtype())) return x;
  const HostTensor parts = real_parts(x).astype(DType::kBF16).astype(DType::kF64);
  return is_complex(x.dtype()) ? complex_of_parts(parts) : parts;
}

/// Returns the function from arguments to the cotangents of all floating-point arguments:
/// vjp(fn)(cotangents).
inline TensorFunction gradient_function(const TensorFunction& fn,
                                        const std::vector<HostTensor>& cotangents) {
  return [fn, cotangents](const Values& x) {
    const Linearized f = vjp(fn, x);
    Values ct;
    for (size_t i = 0; i < f.outputs.size(); ++i) {
      // In f64 mode this conversion does not round.
      ct.push_back(is_differentiable(f.outputs[i].dtype())
                       ? astype(constant(cotangents[i]), f.outputs[i].dtype())
                       : Tensor());
    }
    Values g = f.pullback(ct), out;
    for (size_t i = 0; i < g.size(); ++i) {
      if (is_differentiable(x[i].dtype())) out.push_back(g[i] ? g[i] : zeros_like(x[i]));
    }
    return out;
  };
}

/// Checks that <ct, df> by finite differences equals <vjp(ct), v> along one random direction v.
/// With `order` 2, checks the vjp itself in the same way.
inline void check_gradients(const TensorFunction& fn, const std::vector<HostTensor>& x,
                            int order = 2, double tolerance = 1e-6, uint64_t seed = 1) {
  const EvalOptions f64{.f64 = true};
  const std::vector<HostTensor> y = eval(fn, x, f64);
  std::vector<HostTensor> ct, v, v_floats;
  for (size_t i = 0; i < y.size(); ++i) {
    // The gradient function casts the cotangent to the dtype of the output.
    ct.push_back(rounded(random_tensor(y[i].type(), seed + 100 + i, 1)));
  }
  for (size_t i = 0; i < x.size(); ++i) {
    v.push_back(random_tensor(x[i].type(), seed + 200 + i, 1));
    if (is_differentiable(x[i].dtype())) v_floats.push_back(v.back());
  }
  constexpr double kEps = 1e-6;
  const double by_difference = (inner_product(eval(fn, moved(x, v, kEps), f64), ct) -
                                inner_product(eval(fn, moved(x, v, -kEps), f64), ct)) /
                               (2 * kEps);
  const TensorFunction gradient = gradient_function(fn, ct);
  const double by_vjp = inner_product(eval(gradient, x, f64), v_floats);
  EXPECT_NEAR(by_vjp, by_difference, tolerance * std::max(1.0, std::abs(by_difference)))
      << "order " << 3 - order << " from the inside";
  if (order > 1) check_gradients(gradient, x, order - 1, tolerance * 10, seed + 1);
}

}  // namespace axle::testing
