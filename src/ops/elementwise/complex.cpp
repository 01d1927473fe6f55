#include "ops/elementwise/complex.h"

#include <fmt/format.h>

#include "ops/batching.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/movement/broadcast.h"
#include "ops/rules.h"

namespace axle {
namespace {

std::vector<Type> infer_part(const OpNode& op) {
  const Type& z = op.inputs[0].type();
  if (!is_complex(z.dtype))
    shape_error(op, fmt::format("expected complex numbers, got {}", name_of(z.dtype)));
  return {{real_dtype(z.dtype), z.dims}};
}

std::vector<Type> infer_complex(const OpNode& op) {
  const Type part = same_type(op)[0];
  if (part.dtype != DType::kF32 && part.dtype != DType::kF64) {
    shape_error(op, fmt::format("expected parts of f32 or f64, got {}; convert with astype",
                                name_of(part.dtype)));
  }
  return {{part.dtype == DType::kF64 ? DType::kC128 : DType::kC64, part.dims}};
}

const OpRules real_rules({.name = "real",
                          .infer = infer_part,
                          .batch = elementwise,
                          .vjp = [](X, Y, Ct g) { return Values{complex(g[0], zeros_like(g[0]))}; },
                          .eval = unary([]<class T>(std::complex<T> z) { return z.real(); }),
                          .hlo = "stablehlo.real",
                          .cost = kNoFlops});

const OpRules imag_rules({.name = "imag",
                          .infer = infer_part,
                          .batch = elementwise,
                          .vjp = [](X, Y,
                                    Ct g) { return Values{complex(zeros_like(g[0]), -g[0])}; },
                          .eval = unary([]<class T>(std::complex<T> z) { return z.imag(); }),
                          .hlo = "stablehlo.imag",
                          .cost = kNoFlops});

const OpRules complex_rules({.name = "complex",
                             .infer = infer_complex,
                             .batch = elementwise,
                             .vjp =
                                 [](X, Y, Ct g) {
                                   return Values{real(g[0]), -imag(g[0])};
                                 },
                             .eval = binary([](detail::Float auto re, detail::Float auto im) {
                               return std::complex(re, im);
                             }),
                             .hlo = "stablehlo.complex",
                             .cost = kNoFlops});

}  // namespace

Tensor complex(const Tensor& real, const Tensor& imag) {
  return emit_broadcast(complex_rules, real, imag);
}
Tensor real(const Tensor& z) { return emit(real_rules, {z}); }
Tensor imag(const Tensor& z) { return emit(imag_rules, {z}); }
Tensor conj(const Tensor& z) { return complex(real(z), -imag(z)); }

}  // namespace axle
