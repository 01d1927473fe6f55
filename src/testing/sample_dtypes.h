// The samples of ops with operands of other dtypes.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "testing/op_samples.h"
#include "transform/trace.h"

namespace axle::testing {

/// Returns the dtypes that replace a dtype in samples: all of its kind.
inline std::vector<DType> dtypes_like(DType dtype) {
  if (dtype == DType::kPred) return {dtype};
  if (is_complex(dtype)) return {DType::kC64, DType::kC128};
  if (is_float(dtype)) {
    return {DType::kF8E4M3FN, DType::kF8E5M2, DType::kF16, DType::kBF16, DType::kF32, DType::kF64};
  }
  return {DType::kI4, DType::kI8, DType::kI16, DType::kI32, DType::kI64,
          DType::kU4, DType::kU8, DType::kU16, DType::kU32, DType::kU64};
}

inline std::vector<Type> operand_types(const OpSample& sample) {
  std::vector<Type> out;
  for (const HostTensor& x : sample.inputs) out.push_back(x.type());
  return out;
}

/// True if an operand of the sample is of the kind of `dtype`.
inline bool has_kind(const OpSample& sample, DType dtype) {
  return std::ranges::any_of(sample.inputs, [&](const HostTensor& x) {
    return std::ranges::count(dtypes_like(x.dtype()), dtype) > 0;
  });
}

/// Returns the sample with all operands of the kind of `dtype` converted to it. Returns none if the
/// sample has no such operand, or if an op refuses the dtype: its error names it. Throws all other
/// errors.
inline std::optional<OpSample> in_dtype(const OpSample& sample, DType dtype) {
  if (!has_kind(sample, dtype)) return std::nullopt;
  OpSample out = sample;
  for (HostTensor& x : out.inputs) {
    if (std::ranges::count(dtypes_like(x.dtype()), dtype) > 0) x = x.astype(dtype);
  }
  try {
    trace(out.fn, operand_types(out));
  } catch (const ShapeError& error) {
    const std::string_view text = error.what(), what = text.substr(0, text.find("; operands"));
    if (what.find(name_of(dtype)) == std::string_view::npos) throw;
    return std::nullopt;
  }
  return out;
}

}  // namespace axle::testing
