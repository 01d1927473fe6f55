#include "ops/elementwise/nextafter.h"

#include <fmt/format.h>

#include <bit>

#include "ops/batching.h"
#include "ops/movement/broadcast.h"
#include "ops/rules.h"

namespace axle {
namespace {

std::vector<Type> infer_nextafter(const OpNode& op) {
  const DType dtype = op.inputs[0].dtype();
  if (is_float(dtype) && size_bytes(dtype) < 2)
    shape_error(op, fmt::format("expected a float of 16 bits or more, got {}", name_of(dtype)));
  return same_float_type(op);
}

// Within one sign, the bits of floats ascend with their magnitude.
template <class Bits, class T>
T next(T from, T to) {
  using C = Computed<T>;
  const C a(from), b(to);
  if (a != a || b != b) return convert_element<T>(std::numeric_limits<double>::quiet_NaN());
  if (a == b) return to;
  if (a == 0) {
    const auto sign = static_cast<Bits>(Bits{b < 0} << (8 * sizeof(Bits) - 1));
    return std::bit_cast<T>(static_cast<Bits>(sign | 1));
  }
  const bool grows = (a < b) == (a > 0);
  return std::bit_cast<T>(static_cast<Bits>(std::bit_cast<Bits>(from) + (grows ? 1 : -1)));
}

void eval(const EvalOptions&, const OpNode&, std::span<const HostTensor* const> x,
          std::span<HostTensor> y) {
  dispatch(y[0].dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (sizeof(T) > 1 && !std::is_integral_v<T>) {
      using Bits = std::conditional_t<sizeof(T) == 2, uint16_t,
                                      std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;
      const auto from = x[0]->values<T>(), to = x[1]->values<T>();
      const auto out = y[0].values<T>();
      for (size_t i = 0; i < out.size(); ++i) out[i] = next<Bits>(from[i], to[i]);
    }
  });
}

const OpRules nextafter_rules({.name = "nextafter",
                               .infer = infer_nextafter,
                               .batch = elementwise,
                               .vjp = no_gradient,
                               .eval = eval,
                               .hlo = "chlo.next_after",
                               .cost = kElementwise});

}  // namespace

Tensor nextafter(const Tensor& from, const Tensor& to) {
  return emit_broadcast(nextafter_rules, from, to);
}

}  // namespace axle
