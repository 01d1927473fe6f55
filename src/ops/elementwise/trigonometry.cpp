#include "ops/elementwise/trigonometry.h"

#include "ops/batching.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/exponential.h"
#include "ops/movement/broadcast.h"
#include "ops/rules.h"

namespace axle {
namespace {

using detail::Float;

const OpRules sin_rules({.name = "sin",
                         .infer = same_float_type,
                         .batch = elementwise,
                         .vjp = [](X x, Y, Ct g) { return Values{g[0] * cos(x[0])}; },
                         .eval = unary([](Float auto x) { return std::sin(x); }),
                         .hlo = "stablehlo.sine",
                         .cost = kTranscendental});

const OpRules cos_rules({.name = "cos",
                         .infer = same_float_type,
                         .batch = elementwise,
                         .vjp = [](X x, Y, Ct g) { return Values{-(g[0] * sin(x[0]))}; },
                         .eval = unary([](Float auto x) { return std::cos(x); }),
                         .hlo = "stablehlo.cosine",
                         .cost = kTranscendental});

const OpRules tan_rules({.name = "tan",
                         .infer = same_float_type,
                         .batch = elementwise,
                         .vjp = [](X, Y y, Ct g) { return Values{g[0] * (1 + square(y[0]))}; },
                         .eval = unary([](Float auto x) { return std::tan(x); }),
                         .hlo = "stablehlo.tan",
                         .cost = kTranscendental});

const OpRules atan2_rules({.name = "atan2",
                           .infer = same_float_type,
                           .batch = elementwise,
                           .vjp =
                               [](X x, Y, Ct g) {
                                 const Tensor norm = square(x[0]) + square(x[1]);
                                 return Values{g[0] * (x[1] / norm), g[0] * (-x[0] / norm)};
                               },
                           .eval = binary([]<Float T>(T y, T x) { return std::atan2(y, x); }),
                           .hlo = "stablehlo.atan2",
                           .cost = kTranscendental});

const OpRules tanh_rules({.name = "tanh",
                          .infer = same_float_type,
                          .batch = elementwise,
                          .vjp = [](X, Y y,
                                    Ct g) { return Values{(g[0] + g[0] * y[0]) * (1 - y[0])}; },
                          .eval = unary([](Float auto x) { return std::tanh(x); }),
                          .hlo = "stablehlo.tanh",
                          .cost = kTranscendental});

// One op instead of 1 / (1 + exp(-x)): XLA expands it to this formula if the device has no better
// one.
}  // namespace

Tensor sin(const Tensor& x) { return emit(sin_rules, {x}); }
Tensor cos(const Tensor& x) { return emit(cos_rules, {x}); }
Tensor tan(const Tensor& x) { return emit(tan_rules, {x}); }
Tensor atan2(const Tensor& y, const Tensor& x) { return emit_broadcast(atan2_rules, y, x); }
Tensor tanh(const Tensor& x) { return emit(tanh_rules, {x}); }

}  // namespace axle
