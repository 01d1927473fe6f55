// References of the elementwise ops on numbers.
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "transform/laws/naive_test.h"

namespace axle::testing {
namespace {

using NaiveElementwiseReal = long double;
using Complex = std::complex<long double>;
constexpr NaiveElementwiseReal kPi = std::numbers::pi_v<NaiveElementwiseReal>;
constexpr NaiveElementwiseReal kNan = std::numeric_limits<NaiveElementwiseReal>::quiet_NaN();
constexpr NaiveElementwiseReal kInf = std::numeric_limits<NaiveElementwiseReal>::infinity();

Reference of_real(std::function<NaiveElementwiseReal(NaiveElementwiseReal)> f) {
  return [f](const NaiveCall& c) {
    Naive y(c.result());
    for (size_t i = 0; i < y.size(); ++i) y.re[i] = f(c.x[0].re[i]);
    return Naives{y};
  };
}
Reference of_two(
    std::function<NaiveElementwiseReal(NaiveElementwiseReal, NaiveElementwiseReal)> f) {
  return [f](const NaiveCall& c) {
    Naive y(c.result());
    for (size_t i = 0; i < y.size(); ++i) y.re[i] = f(c.x[0].re[i], c.x[1].re[i]);
    return Naives{y};
  };
}
Complex element(const Naive& x, size_t i) { return {x.re[i], x.im.empty() ? 0 : x.im[i]}; }
void set(Naive& y, size_t i, Complex v) {
  y.re[i] = v.real();
  if (!y.im.empty()) y.im[i] = v.imag();
}

// Arithmetic of reals, of complex numbers and of integers that wrap.
template <class F>
Reference arithmetic(F f) {
  return [f](const NaiveCall& c) {
    Naive y(c.result());
    for (size_t i = 0; i < y.size(); ++i) {
      if (is_complex(y.type.dtype)) {
        set(y, i, f(element(c.x[0], i), element(c.x[1], i)));
      } else if (is_float(y.type.dtype)) {
        y.re[i] = f(c.x[0].re[i], c.x[1].re[i]);
      } else {
        const auto a = static_cast<__int128>(c.x[0].re[i]), b = static_cast<__int128>(c.x[1].re[i]);
        y.re[i] = wrapped(f(a, b), y.type.dtype);
      }
    }
    return Naives{y};
  };
}

// Integers divide towards zero. By zero the quotient is -1, all bits set, and the remainder the
// dividend.
Reference quotient() {
  return [](const NaiveCall& c) {
    Naive y(c.result());
    for (size_t i = 0; i < y.size(); ++i) {
      if (is_complex(y.type.dtype)) {
        set(y, i, element(c.x[0], i) / element(c.x[1], i));
      } else if (is_float(y.type.dtype)) {
        y.re[i] = c.x[0].re[i] / c.x[1].re[i];
      } else {
        const auto a = static_cast<__int128>(c.x[0].re[i]), b = static_cast<__int128>(c.x[1].re[i]);
        y.re[i] = wrapped(b == 0 ? -1 : a / b, y.type.dtype);
      }
    }
    return Naives{y};
  };
}

// The maximum is NaN if either is; 0 is larger than -0.
NaiveElementwiseReal larger(NaiveElementwiseReal a, NaiveElementwiseReal b) {
  if (std::isnan(a) || std::isnan(b)) return kNan;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
NaiveElementwiseReal smaller(NaiveElementwiseReal a, NaiveElementwiseReal b) {
  return -larger(-a, -b);
}

// psi(x) = ln(x + n) - 1 / (2 (x + n)) - 1 / (12 (x + n)^2) + 1 / (120 (x + n)^4) - sum of
// 1 / (x + k) for k < n, with an n so large that the next term vanishes.
NaiveElementwiseReal digamma(NaiveElementwiseReal x) {
  if (x == 0) return -kInf;
  if (x < 0 && x == std::floor(x)) return kNan;
  if (std::isinf(x)) return x > 0 ? kInf : kNan;
  NaiveElementwiseReal sum = 0;
  for (; x < 2000; ++x) sum -= 1 / x;
  return sum + std::log(x) - 1 / (2 * x) - 1 / (12 * x * x) + 1 / (120 * x * x * x * x);
}
// psi^(n)(x) = (-1)^(n + 1) n! sum over k of (x + k)^-(n + 1); the tail by the midpoint rule with
// its first correction.
NaiveElementwiseReal polygamma(int64_t n, NaiveElementwiseReal x) {
  if (!(x > 0)) return kNan;
  const auto s = static_cast<NaiveElementwiseReal>(n + 1);
  NaiveElementwiseReal sum = 0;
  int k = 0;
  for (; k < 4000; ++k) sum += std::pow(x + k, -s);
  const NaiveElementwiseReal from = x + k - 0.5L;
  sum += std::pow(from, 1 - s) / (s - 1) - s * std::pow(from, -s - 1) / 24;
  return (n % 2 == 1 ? 1 : -1) * std::tgamma(s) * sum;
}

// Newton's method for erf(y) = x.
NaiveElementwiseReal erf_inv(NaiveElementwiseReal x) {
  if (!(x >= -1 && x <= 1)) return kNan;
  if (std::abs(x) == 1) return x * kInf;
  NaiveElementwiseReal low = -8, high = 8;
  for (int i = 0; i < 20; ++i) {
    const NaiveElementwiseReal middle = (low + high) / 2;
    (std::erf(middle) < x ? low : high) = middle;
  }
  NaiveElementwiseReal y = (low + high) / 2;
  for (int i = 0; i < 20; ++i) {
    // erfc keeps the digits of the difference near 1.
    const NaiveElementwiseReal off = y > 0 ? (1 - x) - std::erfc(y) : std::erfc(-y) - (1 + x);
    y -= off * std::sqrt(kPi) / 2 * std::exp(y * y);
  }
  return x == 0 ? x : y;
}

NaiveElementwiseReal logistic(NaiveElementwiseReal x) { return 1 / (1 + std::exp(-x)); }

// n factors of x, or their inverse.
Reference integer_pow() {
  return [](const NaiveCall& c) {
    const int64_t n = std::stoll(c.attrs.value("n"));
    Naive y(c.result());
    for (size_t i = 0; i < y.size(); ++i) {
      if (is_complex(y.type.dtype)) {
        Complex product = 1;
        for (int64_t k = 0; k < std::abs(n); ++k) product *= element(c.x[0], i);
        set(y, i, n < 0 ? Complex(1) / product : product);
      } else if (is_float(y.type.dtype)) {
        NaiveElementwiseReal product = 1;
        for (int64_t k = 0; k < std::abs(n); ++k) product *= c.x[0].re[i];
        y.re[i] = n < 0 ? 1 / product : product;
      } else {
        NaiveElementwiseReal product = 1;
        for (int64_t k = 0; k < n; ++k)
          product = wrapped(static_cast<__int128>(product) * static_cast<__int128>(c.x[0].re[i]),
                            y.type.dtype);
        y.re[i] = product;
      }
    }
    return Naives{y};
  };
}

Naives clamp(const NaiveCall& c) {
  Naive y(c.result());
  for (size_t i = 0; i < y.size(); ++i) {
    const auto at = [&](size_t k) { return c.x[k].size() == 1 ? c.x[k].re[0] : c.x[k].re[i]; };
    y.re[i] = smaller(larger(at(0), c.x[1].re[i]), at(2));
  }
  return {y};
}

Naives select(const NaiveCall& c) {
  Naive y(c.result());
  for (size_t i = 0; i < y.size(); ++i) {
    const bool first = c.x[0].re[c.x[0].type.dims.empty() ? 0 : i] != 0;
    copy_element(c.x[first ? 1 : 2], i, y, i);
  }
  return {y};
}

Naives logaddexp(const NaiveCall& c) {
  return of_two([](NaiveElementwiseReal a, NaiveElementwiseReal b) {
    if (a == b) return a + std::log(2.0L);
    return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
  })(c);
}

void add_functions(References& out) {
  using std::sqrt;
  out["exp"] = of_real([](NaiveElementwiseReal x) { return std::exp(x); });
  out["exp2"] = of_real([](NaiveElementwiseReal x) { return std::exp2(x); });
  out["expm1"] = of_real([](NaiveElementwiseReal x) { return std::expm1(x); });
  out["log"] = of_real([](NaiveElementwiseReal x) { return std::log(x); });
  out["log1p"] = of_real([](NaiveElementwiseReal x) { return std::log1p(x); });
  out["sqrt"] = of_real([](NaiveElementwiseReal x) { return std::sqrt(x); });
  out["rsqrt"] = of_real([](NaiveElementwiseReal x) { return 1 / std::sqrt(x); });
  out["cbrt"] = of_real([](NaiveElementwiseReal x) { return std::cbrt(x); });
  out["sin"] = of_real([](NaiveElementwiseReal x) { return std::sin(x); });
  out["cos"] = of_real([](NaiveElementwiseReal x) { return std::cos(x); });
  out["tan"] = of_real([](NaiveElementwiseReal x) { return std::tan(x); });
  out["tanh"] = of_real([](NaiveElementwiseReal x) { return std::tanh(x); });
  out["logistic"] = of_real(logistic);
  out["erf"] = of_real([](NaiveElementwiseReal x) { return std::erf(x); });
  out["erfc"] = of_real([](NaiveElementwiseReal x) { return std::erfc(x); });
  out["erf_inv"] = of_real(erf_inv);
  out["lgamma"] =
      of_real([](NaiveElementwiseReal x) { return std::log(std::abs(std::tgamma(x))); });
  out["digamma"] = of_real(digamma);
  out["polygamma"] = [](const NaiveCall& c) {
    const int64_t n = c.attrs.number("order");
    return of_real([n](NaiveElementwiseReal x) { return polygamma(n, x); })(c);
  };
  out["relu"] = of_real([](NaiveElementwiseReal x) { return larger(x, 0); });
  out["silu"] = of_real([](NaiveElementwiseReal x) { return x * logistic(x); });
  out["quick_gelu"] = of_real([](NaiveElementwiseReal x) { return x * logistic(1.702L * x); });
  out["gelu"] = of_real([](NaiveElementwiseReal x) {
    return x / 2 * (1 + std::tanh(sqrt(2 / kPi) * (x + 0.044715L * x * x * x)));
  });
  out["exact_gelu"] =
      of_real([](NaiveElementwiseReal x) { return x * std::erfc(-x / sqrt(2.0L)) / 2; });
  out["atan2"] =
      of_two([](NaiveElementwiseReal a, NaiveElementwiseReal b) { return std::atan2(a, b); });
  out["pow"] =
      of_two([](NaiveElementwiseReal a, NaiveElementwiseReal b) { return std::pow(a, b); });
  out["logaddexp"] = logaddexp;
  out["integer_pow"] = integer_pow();
}

void add_rounding(References& out) {
  out["sign"] = of_real([](NaiveElementwiseReal x) { return x > 0 ? 1 : x < 0 ? -1 : x; });
  out["floor"] = of_real([](NaiveElementwiseReal x) { return std::floor(x); });
  out["ceil"] = of_real([](NaiveElementwiseReal x) { return std::ceil(x); });
  out["round_nearest_afz"] = of_real(
      [](NaiveElementwiseReal x) { return std::copysign(std::floor(std::abs(x) + 0.5L), x); });
  out["round_nearest_even"] = of_real([](NaiveElementwiseReal x) {
    const NaiveElementwiseReal low = std::floor(x), part = x - low;
    const bool is_even = low / 2 == std::floor(low / 2);
    if (!std::isfinite(x)) return x;
    return std::copysign(part > 0.5L || (part == 0.5L && !is_even) ? low + 1 : low, x);
  });
  out["is_finite"] = of_real([](NaiveElementwiseReal x) { return x - x == 0; });
}

void add_complex(References& out) {
  out["real"] = [](const NaiveCall& c) {
    Naive y(c.result());
    y.re = c.x[0].re;
    return Naives{y};
  };
  out["imag"] = [](const NaiveCall& c) {
    Naive y(c.result());
    y.re = c.x[0].im;
    return Naives{y};
  };
  out["complex"] = [](const NaiveCall& c) {
    Naive y(c.result());
    y.re = c.x[0].re;
    y.im = c.x[1].re;
    return Naives{y};
  };
  out["abs"] = [](const NaiveCall& c) {
    Naive y(c.result());
    for (size_t i = 0; i < y.size(); ++i) {
      y.re[i] = std::abs(element(c.x[0], i));
      if (is_integer(y.type.dtype)) y.re[i] = wrapped(static_cast<__int128>(y.re[i]), y.type.dtype);
    }
    return Naives{y};
  };
}

}  // namespace

void add_elementwise_references(References& out) {
  out["add"] = arithmetic([](auto a, auto b) { return a + b; });
  out["sub"] = arithmetic([](auto a, auto b) { return a - b; });
  out["mul"] = arithmetic([](auto a, auto b) { return a * b; });
  out["div"] = quotient();
  out["rem"] = [](const NaiveCall& c) {
    const bool floats = is_float(c.result().dtype);
    return of_two([floats](NaiveElementwiseReal a, NaiveElementwiseReal b) {
      return !floats && b == 0 ? a : std::fmod(a, b);
    })(c);
  };
  const auto unary = [&](const char* name, auto f) {
    const Reference both = arithmetic([f](auto a, auto) { return f(a); });
    out[name] = [both](const NaiveCall& c) {
      const Naives twice = {c.x[0], c.x[0]};
      return both({c.op, twice, c.options, c.attrs});
    };
  };
  unary("neg", [](auto a) { return -a; });
  unary("square", [](auto a) { return a * a; });
  out["max"] = of_two(larger);
  out["min"] = of_two(smaller);
  out["clamp"] = clamp;
  out["select"] = select;
  add_functions(out);
  add_rounding(out);
  add_complex(out);
}

}  // namespace axle::testing
