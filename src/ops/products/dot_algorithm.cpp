#include "ops/products/dot_algorithm.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace axle {
namespace {

struct Row {
  std::string_view name;
  std::string_view mlir;  // precision of both operands; empty: that of 8-bit operands
  std::string_view sum;
  int num_products;
  std::vector<DType> operands, results;
  std::optional<DotRounding> rounding = {};
};

const Row& row(DotAlgorithm algorithm) {
  using enum DType;
  static const std::vector<DType> eight = {kF8E4M3FN, kF8E5M2};
  static const std::vector<DType> wide = {kBF16, kF16, kF32, kF64};
  static const std::vector<DType> any = {kF8E4M3FN, kF8E5M2, kF16, kBF16, kF32};
  // In the order of the enumeration.
  static const Row rows[] = {
      {"DEFAULT", "", "", 1, {}, {}},
      {"ANY_F8_ANY_F8_F32", "", "f32", 1, eight, any},
      {"ANY_F8_ANY_F8_F32_FAST_ACCUM", "", "f32", 1, eight, any},
      {"ANY_F8_ANY_F8_ANY", "", "f32", 1, eight, any},
      {"ANY_F8_ANY_F8_ANY_FAST_ACCUM", "", "f32", 1, eight, any},
      {"F16_F16_F16", "f16", "f16", 1, {kF16}, {kF16}},
      {"F16_F16_F32", "f16", "f32", 1, {kF16}, {kF32, kF16}},
      {"BF16_BF16_BF16", "bf16", "bf16", 1, {kBF16, kF32}, {kBF16}, DotRounding{7, 1, 1}},
      {"BF16_BF16_F32", "bf16", "f32", 1, {kBF16, kF32}, {kF32, kBF16}, DotRounding{7, 1, 1}},
      {"BF16_BF16_F32_X3", "bf16", "f32", 3, {kF32}, {kF32}, DotRounding{7, 2, 2}},
      {"BF16_BF16_F32_X6", "bf16", "f32", 6, {kF32}, {kF32}, DotRounding{7, 3, 3}},
      {"BF16_BF16_F32_X9", "bf16", "f32", 9, {kF32}, {kF32}, DotRounding{7, 3, 5}},
      {"TF32_TF32_F32", "tf32", "f32", 1, {kF32}, {kF32}, DotRounding{10, 1, 1}},
      {"TF32_TF32_F32_X3", "tf32", "f32", 3, {kF32}, {kF32}, DotRounding{10, 2, 2}},
      {"F32_F32_F32", "f32", "f32", 1, {kF32}, {kF32}},
      {"F64_F64_F64", "f64", "f64", 1, {kF64}, {kF64}},
      {"I8_I8_I32", "", "i32", 1, wide, wide},
      {"I8_I8_I32_BACKWARD", "", "i32", 1, wide, wide}};
  return rows[static_cast<size_t>(algorithm)];
}

bool contains(const std::vector<DType>& list, DType dtype) {
  return std::ranges::find(list, dtype) != list.end();
}

std::string names(const std::vector<DType>& dtypes) {
  std::string out;
  for (const DType d : dtypes) out.append(out.empty() ? "" : " or ").append(name_of(d));
  return out;
}

bool is_imprecise(DotAlgorithm algorithm) {
  return algorithm == DotAlgorithm::kAnyF8AnyF8F32FastAccum ||
         algorithm == DotAlgorithm::kAnyF8AnyF8AnyFastAccum;
}

}  // namespace

bool has_integers(DotAlgorithm algorithm) {
  return algorithm == DotAlgorithm::kI8I8I32 || algorithm == DotAlgorithm::kI8I8I32Backward;
}

std::string_view name_of(DotAlgorithm algorithm) { return row(algorithm).name; }

std::string mismatch(DotAlgorithm algorithm, DType a, DType b, DType result) {
  if (algorithm == DotAlgorithm::kDefault) return "";
  const Row& r = row(algorithm);
  if (!contains(r.operands, a) || !contains(r.operands, b)) {
    return fmt::format("algorithm {} expects operands of {}, got {} and {}", r.name,
                       names(r.operands), name_of(a), name_of(b));
  }
  // A narrow result of wide operands would hide a rounding that the name does not say.
  const bool narrows = r.sum == "f32" && size_bytes(a) == 4 && size_bytes(result) < 4;
  if (!contains(r.results, result) || narrows) {
    return fmt::format("algorithm {} of {} operands gives {}, got a {} result", r.name, name_of(a),
                       narrows ? "f32" : names(r.results), name_of(result));
  }
  return "";
}

std::string mlir_text(DotAlgorithm algorithm, DType a, DType b) {
  const Row& r = row(algorithm);
  return fmt::format(
      "#stablehlo.dot_algorithm<lhs_precision_type = {}, rhs_precision_type = {}, "
      "accumulation_type = {}, lhs_component_count = 1, rhs_component_count = 1, "
      "num_primitive_operations = {}, allow_imprecise_accumulation = {}>",
      r.mlir.empty() ? mlir_name(a) : r.mlir, r.mlir.empty() ? mlir_name(b) : r.mlir, r.sum,
      r.num_products, is_imprecise(algorithm));
}

std::optional<DotRounding> rounding_of(DotAlgorithm algorithm) { return row(algorithm).rounding; }

}  // namespace axle
