// References of ops on bits, of comparisons and of conversions.
#include <cmath>
#include <cstring>
#include <limits>

#include "transform/laws/naive_test.h"

namespace axle::testing {
namespace {

using Real = long double;

int width(DType dtype) {
  if (dtype == DType::kPred) return 1;
  return is_storage_only(dtype) ? 4 : 8 * static_cast<int>(size_bytes(dtype));
}

// Bit k of an integer in two's complement.
bool bit(Real v, int k) { return (static_cast<__int128>(v) >> k) & 1; }

// Returns the integer whose bit k is f(k).
template <class F>
Real of_bits(DType dtype, F f) {
  __int128 out = 0;
  for (int k = 0; k < width(dtype); ++k) out |= static_cast<__int128>(f(k)) << k;
  return dtype == DType::kPred ? static_cast<Real>(out) : wrapped(out, dtype);
}

template <class F>
Reference bitwise(F f) {
  return [f](const NaiveCall& c) {
    Naive y(c.result());
    for (size_t i = 0; i < y.size(); ++i) {
      y.re[i] = of_bits(y.type.dtype, [&](int k) {
        return f(bit(c.x[0].re[i], k), c.x.size() > 1 && bit(c.x[1].re[i], k));
      });
    }
    return Naives{y};
  };
}

// Bit k of the result is bit k + by of the operand, or `outside` of the operand. Shifts by the
// width or more, and negative ones, leave nothing.
template <class F>
Reference shift(int direction, F outside) {
  return [=](const NaiveCall& c) {
    Naive y(c.result());
    const int w = width(y.type.dtype);
    for (size_t i = 0; i < y.size(); ++i) {
      const Real v = c.x[0].re[i], n = c.x[1].re[i];
      const int by = n < 0 || n >= w ? w : static_cast<int>(n);
      y.re[i] = of_bits(y.type.dtype, [&](int k) {
        const int from = k + direction * by;
        return from >= 0 && from < w ? bit(v, from) : outside(bit(v, w - 1));
      });
    }
    return Naives{y};
  };
}

template <class F>
Reference count_bits(F f) {
  return [f](const NaiveCall& c) {
    Naive y(c.result());
    for (size_t i = 0; i < y.size(); ++i) {
      y.re[i] = f(width(y.type.dtype), [&](int k) { return bit(c.x[0].re[i], k); });
    }
    return Naives{y};
  };
}

template <class F>
Reference comparing(F f) {
  return [f](const NaiveCall& c) {
    Naive y(c.result());
    const Naive &a = c.x[0], &b = c.x[1];
    for (size_t i = 0; i < y.size(); ++i) y.re[i] = f(a.re[i], b.re[i]);
    return Naives{y};
  };
}

// Complex numbers are equal if both parts are.
Reference equality(bool result) {
  return [result](const NaiveCall& c) {
    Naive y(c.result());
    const Naive &a = c.x[0], &b = c.x[1];
    for (size_t i = 0; i < y.size(); ++i) {
      const bool equal = a.re[i] == b.re[i] && (a.im.empty() || a.im[i] == b.im[i]);
      y.re[i] = equal == result;
    }
    return Naives{y};
  };
}

// -NaN < -inf < .. < -0 < 0 < .. < inf < NaN: first by class, then by value.
bool total_less(Real a, Real b) {
  const auto rank = [](Real v) { return (std::isnan(v) ? 3 : v == 0 ? 1 : 2); };
  const auto signed_rank = [&](Real v) { return std::signbit(v) ? -rank(v) : rank(v); };
  if (signed_rank(a) == signed_rank(b)) return a < b;
  return signed_rank(a) < signed_rank(b);
}

// Real numbers become integers by truncation, at the ends of the range by saturation, NaN by 0.
Naives convert(const NaiveCall& c) {
  Naive y(c.result());
  for (size_t i = 0; i < y.size(); ++i) {
    const Real v = c.x[0].re[i];
    if (y.type.dtype == DType::kPred) {
      y.re[i] = v != 0 || std::isnan(v);
    } else if (is_integer(y.type.dtype)) {
      const DType from = c.op.inputs[0].dtype();
      if (!is_float(from) && !is_complex(from)) {
        y.re[i] = wrapped(static_cast<__int128>(v), y.type.dtype);
        continue;
      }
      const int bits =
          y.type.dtype == DType::kI4 || y.type.dtype == DType::kU4 ? 4 : width(y.type.dtype);
      const bool is_signed = !is_unsigned(y.type.dtype);
      const Real low = is_signed ? -std::ldexp(1.0L, bits - 1) : 0;
      const Real high = std::ldexp(1.0L, is_signed ? bits - 1 : bits) - 1;
      y.re[i] = std::isnan(v) ? 0 : v < low ? low : v > high ? high : std::trunc(v);
    } else {
      copy_element(c.x[0], i, y, i);
    }
  }
  return {y};
}

// In f64 mode too, the bits are those of the op's own dtypes.
Naives bitcast(const NaiveCall& c) {
  Naive in = c.x[0];
  in.type.dtype = c.op.inputs[0].dtype();
  const HostTensor bits = rounded_host(in);
  HostTensor out(c.op.outputs[0]);
  std::memcpy(out.bytes().data(), bits.bytes().data(), bits.bytes().size());
  Naive y = naive(out);
  y.type = c.result();
  return {y};
}

// The bits of the exponent of a dtype; XLA computes 8-bit floats in f16.
int exponent_bits(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 11;
    case DType::kF32:
    case DType::kBF16:
      return 8;
    default:
      return 5;
  }
}

// Rounds to a mantissa of m bits, ties to even. What is too large for an exponent of e bits becomes
// infinite, and what is too small becomes zero if the dtype has more than e. Subnormal numbers keep
// the bits of their dtype. In f64 mode nothing is rounded.
Naives reduce_precision(const NaiveCall& c) {
  if (c.options.f64) return c.x;
  const int own = exponent_bits(c.result().dtype);
  const std::string format = c.attrs.value("format");
  const int e = std::stoi(format.substr(1)), m = std::stoi(format.substr(format.find('m') + 1));
  Naive y = c.x[0];
  for (Real& v : y.re) {
    if (!std::isfinite(v) || v == 0) continue;
    int exponent = 0;
    std::frexp(v, &exponent);
    exponent = std::max(exponent, 3 - (1 << (own - 1)));
    Real rounded = std::ldexp(std::nearbyint(std::ldexp(v, m + 1 - exponent)), exponent - m - 1);
    const int bias = (1 << (e - 1)) - 1;
    if (std::abs(rounded) >= std::ldexp(1.0L, bias + 1))
      rounded = std::copysign(std::numeric_limits<Real>::infinity(), v);
    if (e < own && std::abs(rounded) < std::ldexp(1.0L, 1 - bias)) rounded = std::copysign(0.0L, v);
    v = rounded;
  }
  return {y};
}

// The neighbour in the direction of b: one unit of the last place away.
Naives nextafter(const NaiveCall& c) {
  Naive y(c.result());
  for (size_t i = 0; i < y.size(); ++i) {
    const Real a = c.x[0].re[i], b = c.x[1].re[i];
    if (y.type.dtype == DType::kF64) {
      y.re[i] = std::nextafter(static_cast<double>(a), static_cast<double>(b));
    } else if (y.type.dtype == DType::kF32) {
      y.re[i] = std::nextafter(static_cast<float>(a), static_cast<float>(b));
    } else if (a == b || a != a || b != b) {
      y.re[i] = a == b ? b : std::numeric_limits<Real>::quiet_NaN();
    } else {
      const bool half = y.type.dtype == DType::kF16;
      const int digits = half ? 11 : 8, least = half ? -24 : -133;
      const Real most = half ? 65504 : (2 - 0x1p-7L) * 0x1p127L;
      if (std::isinf(a)) {
        y.re[i] = std::copysign(most, a);
        continue;
      }
      int exponent = 0;
      const Real mantissa = std::frexp(std::abs(a), &exponent);
      // Below a power of two the numbers are twice as dense.
      const bool to_zero = (b < a) == (a > 0) && a != 0;
      const int unit = exponent - digits - (to_zero && mantissa == 0.5L ? 1 : 0);
      const Real step = std::ldexp(1.0L, a == 0 ? least : std::max(unit, least));
      y.re[i] = a + (b > a ? step : -step);
      if (y.re[i] == 0) y.re[i] = std::copysign(0.0L, a);
      if (std::abs(y.re[i]) > most) y.re[i] *= std::numeric_limits<Real>::infinity();
    }
  }
  return {y};
}

}  // namespace

void add_bits_references(References& out) {
  out["and"] = bitwise([](bool a, bool b) { return a && b; });
  out["or"] = bitwise([](bool a, bool b) { return a || b; });
  out["xor"] = bitwise([](bool a, bool b) { return a != b; });
  out["not"] = bitwise([](bool a, bool) { return !a; });
  out["shift_left"] = shift(-1, [](bool) { return false; });
  out["shift_right_logical"] = shift(1, [](bool) { return false; });
  out["shift_right_arithmetic"] = shift(1, [](bool sign) { return sign; });
  out["popcount"] = count_bits([](int bits, auto at) {
    int n = 0;
    for (int k = 0; k < bits; ++k) n += at(k);
    return n;
  });
  out["count_leading_zeros"] = count_bits([](int bits, auto at) {
    int n = 0;
    while (n < bits && !at(bits - 1 - n)) ++n;
    return n;
  });
  out["eq"] = equality(true);
  out["ne"] = equality(false);
  out["lt"] = comparing([](Real a, Real b) { return a < b; });
  out["le"] = comparing([](Real a, Real b) { return a <= b; });
  out["gt"] = comparing([](Real a, Real b) { return a > b; });
  out["ge"] = comparing([](Real a, Real b) { return a >= b; });
  out["total_lt"] = comparing(total_less);
  out["total_le"] = comparing([](Real a, Real b) { return !total_less(b, a); });
  out["total_eq"] =
      comparing([](Real a, Real b) { return !total_less(a, b) && !total_less(b, a); });
  out["convert"] = convert;
  out["bitcast_convert"] = bitcast;
  out["reduce_precision"] = reduce_precision;
  out["nextafter"] = nextafter;
}

}  // namespace axle::testing
