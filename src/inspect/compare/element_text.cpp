#include "inspect/compare/element_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <nlohmann/json.hpp>

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

std::complex<double> complex_element(const HostTensor& x, int64_t i) {
  std::complex<double> out;
  dispatch_complex(x.dtype(), [&]<class T>(std::type_identity<T>) {
    out = std::complex<double>(x.values<T>()[static_cast<size_t>(i)]);
  });
  return out;
}

// 9 digits tell any two numbers of 32 bits apart, and the default format of fmt any two doubles.
std::string float_text(double v, bool is_double) {
  if (std::isnan(v)) return "nan";
  return is_double ? fmt::format("{}", v) : fmt::format("{:.9g}", v);
}

Json float_json(double v) { return std::isfinite(v) ? Json(v) : Json(float_text(v, true)); }

}  // namespace

std::string element_text(const HostTensor& x, int64_t i) {
  const bool is_double = real_dtype(x.dtype()) == DType::kF64;
  if (is_complex(x.dtype())) {
    const std::complex<double> v = complex_element(x, i);
    const std::string imaginary = float_text(v.imag(), is_double);
    return fmt::format("{}{}{}i", float_text(v.real(), is_double),
                       imaginary.starts_with('-') ? "" : "+", imaginary);
  }
  return is_float(x.dtype()) ? float_text(x.at(i), is_double) : x.element(i).text();
}

std::string tensor_text(const HostTensor& x, int64_t max_values) {
  std::string out = to_text(x.type()) + " {";
  for (int64_t i = 0; i < std::min(x.size(), max_values); ++i)
    out += (i ? ", " : "") + element_text(x, i);
  return out + (x.size() > max_values ? ", ...}" : "}");
}

Json element_json(const HostTensor& x, int64_t i) {
  if (is_complex(x.dtype())) {
    const std::complex<double> v = complex_element(x, i);
    return Json::array({float_json(v.real()), float_json(v.imag())});
  }
  if (is_float(x.dtype())) return float_json(x.at(i));
  if (x.dtype() == DType::kPred) return Json(x.at(i) != 0);
  const Scalar whole = x.element(i);
  return whole.fits(DType::kI64) ? Json(whole.as<int64_t>()) : Json(whole.as<uint64_t>());
}

}  // namespace axle
