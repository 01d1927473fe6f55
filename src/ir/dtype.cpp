#include "ir/dtype.h"

#include <iterator>

#include "base/text/enum_text.h"

namespace axle {
namespace {

struct Row {
  std::string_view name, mlir;
  size_t size;
};
// In the order of the enumeration.
constexpr Row kRows[] = {{"pred", "i1", 1},  {"i32", "i32", 4},  {"i64", "i64", 8},
                         {"u32", "ui32", 4}, {"u64", "ui64", 8}, {"bf16", "bf16", 2},
                         {"f32", "f32", 4},  {"f64", "f64", 8}};
const Row& row(DType d) { return kRows[static_cast<size_t>(d)]; }

}  // namespace

size_t size_bytes(DType d) { return row(d).size; }
std::string_view name_of(DType d) { return row(d).name; }
std::string_view mlir_name(DType d) { return row(d).mlir; }
bool is_float(DType d) { return d >= DType::kBF16; }
bool is_integer(DType d) { return d > DType::kPred && d < DType::kBF16; }
bool is_unsigned(DType d) { return d == DType::kU32 || d == DType::kU64; }
std::string to_text(DType d) { return std::string(name_of(d)); }

namespace {

DType dtype_named(std::string_view text, bool (*is_allowed)(DType)) {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < std::size(kRows); ++i) {
    const auto dtype = static_cast<DType>(i);
    if (!is_allowed(dtype)) continue;
    if (name_of(dtype) == text) return dtype;
    names.push_back(name_of(dtype));
  }
  fail_no_enum_text(names, text);
}

}  // namespace

void from_text(std::string_view text, DType& dtype) {
  dtype = dtype_named(text, [](DType) { return true; });
}

std::string to_text(FloatDType dtype) { return to_text(dtype.value); }
void from_text(std::string_view text, FloatDType& dtype) { dtype = dtype_named(text, is_float); }

}  // namespace axle
