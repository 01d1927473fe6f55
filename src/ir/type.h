// Shapes and types of tensors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/dtype.h"

namespace axle {

using Shape = std::vector<int64_t>;

/// No tensor has more elements: 2^50 are far beyond any machine, and sums of their bytes are exact.
inline constexpr int64_t kMostElements = int64_t{1} << 50;
/// Whether it has at most kMostElements; dims may be any positive numbers.
bool is_countable(const Shape& shape);
/// Product of the dims; 1 for a scalar. Throws ShapeError unless is_countable.
int64_t num_elements(const Shape& shape);
/// "[2, 3]".
std::string to_text(const Shape& shape);
/// Elements between neighbours along each dim of a dense row-major array.
Shape row_major_strides(const Shape& shape);

struct Type {
  DType dtype = DType::kF32;
  Shape dims = {};

  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  int64_t num_elements() const { return axle::num_elements(dims); }
  size_t num_bytes() const { return static_cast<size_t>(num_elements()) * size_bytes(dtype); }
  bool operator==(const Type&) const = default;
};

/// "f32[2, 3]".
std::string to_text(const Type& type);
/// "f32[1000000000, 1000000000] takes 4e+18 bytes, more than any machine has": of types that are
/// not countable.
std::string too_large_text(const Type& type);
/// "tensor<2x3xf32>".
std::string mlir_type(const Type& type);

}  // namespace axle
