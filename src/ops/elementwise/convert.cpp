#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "ops/elementwise/elementwise.h"
#include "ops/rules.h"

namespace axle {
namespace {

struct ConvertAttributes : Attributes {
  explicit ConvertAttributes(DType d) : dtype(d) {}
  DType dtype;
  std::string text() const override { return fmt::format("dtype = {}", name_of(dtype)); }
};

HloValues lower_convert(const OpNode& op, HloBuilder& b, const HloValues& x) {
  const DType to = op.outputs[0].dtype;
  const bool is_byte = to == DType::kI8 || to == DType::kU8;
  if (!is_byte || !is_storage_only(x[0].type.dtype))
    return {b.one("stablehlo.convert", x, op.outputs[0])};
  const HloValue byte = hlo_byte_of(b, x[0]);
  return {byte.type.dtype == to ? byte : b.one("stablehlo.convert", {byte}, op.outputs[0])};
}

const OpRules convert_rules(
    {.name = "convert",
     .infer =
         [](const OpNode& op) {
           return std::vector<Type>{{op.attrs<ConvertAttributes>().dtype, op.inputs[0].shape()}};
         },
     .batch = elementwise,
     .vjp =
         [](X x, Y y, Ct g) {
           if (!is_differentiable(x[0].dtype()) || !is_differentiable(y[0].dtype()))
             return Values{{}};
           return Values{astype(g[0], x[0].dtype())};
         },
     .eval = [](const EvalOptions&, const OpNode&, std::span<const HostTensor* const> x,
                std::span<HostTensor> y) { y[0] = x[0]->astype(y[0].dtype()); },
     .hlo = lower_convert,
     .cost = kElementwise,
     .traits = {.cheap = true, .moves_elements = true}});

// A 4-bit integer takes a byte in host memory, but has four bits.
int64_t num_bits(DType dtype) {
  return is_storage_only(dtype) ? 4 : static_cast<int64_t>(8 * size_bytes(dtype));
}

// Returns the bits of the elements. Two 4-bit integers share a byte, the first has its low half.
std::vector<uint8_t> bits_of(const HostTensor& x) {
  const auto bytes =
      std::span(reinterpret_cast<const uint8_t*>(x.bytes().data()), x.bytes().size());
  if (!is_storage_only(x.dtype())) return {bytes.begin(), bytes.end()};
  std::vector<uint8_t> out((bytes.size() + 1) / 2);
  for (size_t i = 0; i < bytes.size(); ++i)
    out[i / 2] = static_cast<uint8_t>(out[i / 2] | (bytes[i] & 15) << (i % 2 == 0 ? 0 : 4));
  return out;
}

void set_bits(const std::vector<uint8_t>& bits, HostTensor& y) {
  const auto half = [&](size_t i) { return bits[i / 2] >> (i % 2 == 0 ? 0 : 4) & 15; };
  const auto fill = [&](auto out) {
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = typename decltype(out)::value_type(static_cast<int>(half(i)));
  };
  if (y.dtype() == DType::kI4) return fill(y.values<I4>());
  if (y.dtype() == DType::kU4) return fill(y.values<U4>());
  std::memcpy(y.bytes().data(), bits.data(), bits.size());
}

std::vector<Type> infer_bitcast(const OpNode& op) {
  const Type& x = op.inputs[0].type();
  Type y{op.attrs<ConvertAttributes>().dtype, x.dims};
  if (x.dtype == DType::kPred || y.dtype == DType::kPred)
    shape_error(op, "predicates have no bits to reinterpret; convert with astype");
  if (is_complex(x.dtype) || is_complex(y.dtype))
    shape_error(op, "expected real dtypes; take complex numbers apart with real and imag");
  const int64_t from = num_bits(x.dtype), to = num_bits(y.dtype);
  if (from > to) y.dims.push_back(from / to);
  if (from < to) {
    if (x.dims.empty() || x.dims.back() != to / from) {
      shape_error(op, fmt::format("expected a last dim of {} to make {}, got {}", to / from,
                                  name_of(y.dtype), to_text(x)));
    }
    y.dims.pop_back();
  }
  return {y};
}

const OpRules bitcast_convert_rules(
    {.name = "bitcast_convert",
     .infer = infer_bitcast,
     .batch = trailing_dims,
     .vjp = no_gradient,
     .eval =
         [](const EvalOptions&, const OpNode& op, std::span<const HostTensor* const> x,
            std::span<HostTensor> y) {
           const HostTensor in = x[0]->astype(
               op.inputs[0].dtype());  // f64 mode stores other bits than the op's dtype has
           HostTensor out(op.outputs[0]);
           set_bits(bits_of(in), out);
           y[0] = out.astype(y[0].dtype());
         },
     .hlo = "stablehlo.bitcast_convert",
     .cost = kView,
     .traits = {.cheap = true}});

struct PrecisionAttributes : Attributes {
  PrecisionAttributes(int e, int m) : exponent_bits(e), mantissa_bits(m) {}
  int exponent_bits, mantissa_bits;
  std::string text() const override {
    return fmt::format("format = e{}m{}", exponent_bits, mantissa_bits);
  }
};

// The formats in which precision is reduced: the dtypes' formats, and f16 for 8-bit floats,
// as in XLA.
template <class T>
constexpr FloatLayout layout_of() {
  if constexpr (std::is_same_v<T, double>)
    return {11, 52, true};
  else if constexpr (std::is_same_v<T, float>)
    return {8, 23, true};
  else if constexpr (std::is_same_v<T, BF16>)
    return {8, 7, true};
  else
    return F16::kLayout;
}

int bias_of(int exponent_bits) { return (1 << (exponent_bits - 1)) - 1; }

// Rounds the mantissa of a number of the layout `own` to nearest even. Values outside a smaller
// range of exponents become zero or infinity.
double reduced(double x, const PrecisionAttributes& a, const FloatLayout& own) {
  if (!std::isfinite(x) || x == 0) return x;
  double rounded = x;
  if (a.mantissa_bits < own.fraction_bits) {
    const int exponent = std::max(std::ilogb(x), 1 - bias_of(own.exponent_bits));
    rounded = std::ldexp(std::nearbyint(std::ldexp(x, a.mantissa_bits - exponent)),
                         exponent - a.mantissa_bits);
  }
  if (a.exponent_bits >= own.exponent_bits) return rounded;
  const int bias = bias_of(a.exponent_bits);
  const double magnitude = std::fabs(rounded);
  if (magnitude >= std::ldexp(2.0, bias))
    return std::copysign(std::numeric_limits<double>::infinity(), x);
  return magnitude < std::ldexp(1.0, 1 - bias) ? std::copysign(0.0, x) : rounded;
}

void eval_reduce_precision(const EvalOptions& options, const OpNode& op,
                           std::span<const HostTensor* const> x, std::span<HostTensor> y) {
  if (options.f64) {  // gradient checks need the smooth function without rounding
    y[0] = *x[0];
    return;
  }
  const auto& a = op.attrs<PrecisionAttributes>();
  dispatch(y[0].dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_floating_point_v<Computed<T>>) {
      std::ranges::transform(x[0]->values<T>(), y[0].values<T>().begin(), [&](T v) {
        return convert_element<T>(reduced(convert_element<double>(v), a, layout_of<T>()));
      });
    }
  });
}

const OpRules reduce_precision_rules(
    {.name = "reduce_precision",
     .infer = same_float_type,
     .batch = elementwise,
     .vjp =
         [](X x, Y, Ct g) {
           const auto& a = x.attrs<PrecisionAttributes>();
           return Values{reduce_precision(g[0], a.exponent_bits, a.mantissa_bits)};
         },
     .eval = eval_reduce_precision,
     .hlo =
         [](const OpNode& op, HloBuilder& b, const HloValues& x) {
           const auto& a = op.attrs<PrecisionAttributes>();
           return HloValues{b.one("stablehlo.reduce_precision", x, op.outputs[0],
                                  fmt::format("exponent_bits = {} : i32, mantissa_bits = {} : i32",
                                              a.exponent_bits, a.mantissa_bits))};
         },
     .cost = kElementwise});

}  // namespace

Tensor astype(const Tensor& x, DType dtype) {
  return x.dtype() == dtype ? x : emit(convert_rules, {x}, ConvertAttributes(dtype));
}

double largest_number(DType dtype) {
  return dispatch(dtype, []<class T>(std::type_identity<T>) -> double {
    if constexpr (std::is_floating_point_v<T>) {
      return std::numeric_limits<T>::max();
    } else if constexpr (std::is_same_v<Computed<T>, float>) {
      // The bits before infinity's, or of NaN where there is none.
      T number(std::numeric_limits<float>::infinity());
      --number.bits;
      return static_cast<float>(number);
    } else {
      throw InternalError("expected a float dtype");
    }
  });
}

Tensor astype_saturating(const Tensor& x, DType dtype) {
  if (!is_float(x.dtype()) || !is_float(dtype)) {
    shape_error("astype_saturating",
                fmt::format("expected floats, got {} to {}", name_of(x.dtype()), name_of(dtype)),
                {x});
  }
  const double largest = largest_number(dtype);
  if (largest >= largest_number(x.dtype())) return astype(x, dtype);
  return astype(clamp(-largest, x, largest), dtype);
}

Tensor quantize(const Tensor& x, const Tensor& scale, DType dtype) {
  return astype_saturating(x / scale, dtype);
}
Tensor dequantize(const Tensor& x, const Tensor& scale) { return astype(x, scale.dtype()) * scale; }

Tensor bitcast_convert(const Tensor& x, DType dtype) {
  return x.dtype() == dtype ? x : emit(bitcast_convert_rules, {x}, ConvertAttributes(dtype));
}

Tensor reduce_precision(const Tensor& x, int exponent_bits, int mantissa_bits) {
  // No float has more bits than f64.
  if (exponent_bits < 1 || exponent_bits > 11 || mantissa_bits < 0 || mantissa_bits > 52) {
    shape_error("reduce_precision",
                fmt::format("expected 1 to 11 exponent bits and 0 to 52 mantissa bits, got {} and "
                            "{}",
                            exponent_bits, mantissa_bits),
                {x});
  }
  return emit(reduce_precision_rules, {x}, PrecisionAttributes(exponent_bits, mantissa_bits));
}

namespace {

DType wider(DType a, DType b) { return size_bytes(a) < size_bytes(b) ? b : a; }

// The signed integer of twice the size; f64 stands in for that of 16 bytes.
DType signed_above(DType unsigned_integer) {
  switch (unsigned_integer) {
    case DType::kU8:
      return DType::kI16;
    case DType::kU16:
      return DType::kI32;
    case DType::kU32:
      return DType::kI64;
    default:
      return DType::kF64;
  }
}

DType of_integers(DType a, DType b) {
  if (is_unsigned(a) == is_unsigned(b)) return wider(a, b);
  const DType least = signed_above(is_unsigned(a) ? a : b);
  return is_float(least) ? least : wider(is_unsigned(a) ? b : a, least);
}

DType of_floats(DType a, DType b) {
  return size_bytes(a) == size_bytes(b) ? DType::kF32 : wider(a, b);
}

bool is_f64_or_c128(DType d) { return d == DType::kF64 || d == DType::kC128; }

}  // namespace

std::optional<DType> promoted_dtype(DType a, DType b) {
  if (a == b || b == DType::kPred) return a;
  if (a == DType::kPred) return b;
  if (is_storage_only(a) || is_storage_only(b)) return {};
  if (is_integer(a) && is_integer(b)) return of_integers(a, b);
  if (is_integer(a)) return b;
  if (is_integer(b)) return a;
  if (std::min(size_bytes(a), size_bytes(b)) == 1) return {};
  if (is_float(a) && is_float(b)) return of_floats(a, b);
  return is_f64_or_c128(a) || is_f64_or_c128(b) ? DType::kC128 : DType::kC64;
}

std::pair<Tensor, Tensor> promote(const Tensor& a, const Tensor& b) {
  const std::optional<DType> dtype = promoted_dtype(a.dtype(), b.dtype());
  if (!dtype) {
    shape_error("promote",
                fmt::format("expected dtypes with a common one, got {} and {}; convert one with "
                            "astype",
                            name_of(a.dtype()), name_of(b.dtype())),
                {a, b});
  }
  return {astype(a, *dtype), astype(b, *dtype)};
}

}  // namespace axle
