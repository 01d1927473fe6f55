#include "ir/dtype.h"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <span>

#include "base/error.h"
#include "base/text/enum_text.h"

namespace axle {
namespace {

struct Row {
  std::string_view name, mlir;
  size_t size;
};
// In the order of the enumeration.
constexpr Row kRows[] = {{"pred", "i1", 1},
                         {"i4", "i4", 1},
                         {"i8", "i8", 1},
                         {"i16", "i16", 2},
                         {"i32", "i32", 4},
                         {"i64", "i64", 8},
                         {"u4", "ui4", 1},
                         {"u8", "ui8", 1},
                         {"u16", "ui16", 2},
                         {"u32", "ui32", 4},
                         {"u64", "ui64", 8},
                         {"f8e4m3fn", "f8E4M3FN", 1},
                         {"f8e5m2", "f8E5M2", 1},
                         {"f16", "f16", 2},
                         {"bf16", "bf16", 2},
                         {"f32", "f32", 4},
                         {"f64", "f64", 8},
                         {"c64", "complex<f32>", 8},
                         {"c128", "complex<f64>", 16}};
const Row& row(DType d) { return kRows[static_cast<size_t>(d)]; }

}  // namespace

size_t size_bytes(DType d) { return row(d).size; }
std::string_view name_of(DType d) { return row(d).name; }
std::string_view mlir_name(DType d) { return row(d).mlir; }
bool is_float(DType d) { return d >= DType::kF8E4M3FN && d <= DType::kF64; }
bool is_complex(DType d) { return d == DType::kC64 || d == DType::kC128; }
DType real_dtype(DType d) {
  return d == DType::kC64 ? DType::kF32 : d == DType::kC128 ? DType::kF64 : d;
}
bool is_differentiable(DType d) { return is_float(d) || is_complex(d); }
bool is_integer(DType d) { return d > DType::kPred && d < DType::kF8E4M3FN; }
bool is_unsigned(DType d) { return d >= DType::kU4 && d <= DType::kU64; }
bool is_storage_only(DType d) { return d == DType::kI4 || d == DType::kU4; }
DType wide_dtype(DType d) { return is_float(d) && size_bytes(d) < 4 ? DType::kF32 : d; }
std::string to_text(DType d) { return std::string(name_of(d)); }

namespace {

constexpr auto kTexts = [] {
  std::array<EnumText<DType>, std::size(kRows)> out{};
  for (size_t i = 0; i < out.size(); ++i) out[i] = {static_cast<DType>(i), kRows[i].name};
  return out;
}();
// From bf16 on: f8 and f16 are no dtypes to compute in.
constexpr auto kFloatTexts = std::span(kTexts).subspan(static_cast<size_t>(DType::kBF16), 3);

}  // namespace

void from_text(std::string_view text, DType& dtype) {
  dtype = value_of_text(std::span<const EnumText<DType>>(kTexts), text);
}

std::string to_text(FloatDType dtype) { return to_text(dtype.value); }
void from_text(std::string_view text, FloatDType& dtype) {
  dtype = value_of_text<DType>(kFloatTexts, text);
}

void fail_not_real(DType dtype) {
  throw InternalError(fmt::format("expected a real dtype, got {}", name_of(dtype)));
}

}  // namespace axle
