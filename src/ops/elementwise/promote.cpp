#include "ops/elementwise/promote.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/elementwise/convert.h"
#include "ops/rules.h"

namespace axle {
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
