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

void from_text(std::string_view text, DType& dtype) {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (kRows[i].name == text) {
      dtype = static_cast<DType>(i);
      return;
    }
    names.push_back(kRows[i].name);
  }
  fail_no_enum_text(names, text);
}

std::string to_text(FloatDType dtype) { return to_text(dtype.value); }

void from_text(std::string_view text, FloatDType& dtype) {
  for (const DType d : {DType::kBF16, DType::kF32, DType::kF64}) {
    if (name_of(d) != text) continue;
    dtype = d;
    return;
  }
  throw ConfigError(fmt::format("expected one of bf16, f32, f64, got '{}'", text));
}

}  // namespace axle
