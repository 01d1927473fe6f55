// Shapes and types of tensors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/tree.h"
#include "ir/dtype.h"

namespace axle {

using Shape = std::vector<int64_t>;

/// The most elements that a tensor can have. 2^50 is far beyond any machine, and sums of bytes up
/// to it stay exact.
inline constexpr int64_t kMaxElements = int64_t{1} << 50;
/// True if the shape has at most kMaxElements elements; the dims may be any positive numbers.
bool is_countable(const Shape& shape);
/// Returns the product of the dims; 1 for a scalar. Throws ShapeError unless is_countable.
int64_t num_elements(const Shape& shape);
/// Writes "[2, 3]".
std::string to_text(const Shape& shape);
/// Returns, for each dim of a dense row-major array, the number of elements between neighbours.
Shape row_major_strides(const Shape& shape);

struct Type {
  DType dtype = DType::kF32;
  Shape dims = {};

  int64_t rank() const { return std::ssize(dims); }
  int64_t num_elements() const { return axle::num_elements(dims); }
  size_t num_bytes() const { return static_cast<size_t>(num_elements()) * size_bytes(dtype); }
  bool operator==(const Type&) const = default;
};

/// Writes "f32[2, 3]".
std::string to_text(const Type& type);
/// Writes "f32[2, 3], i32[]"; "nothing" for an empty list.
std::string to_text(const std::vector<Type>& types);
/// Returns the message for a type that is not countable: "f32[1000000000, 1000000000] takes 4e+18
/// bytes, more than any machine has".
std::string too_large_text(const Type& type);
/// Returns the MLIR type: "tensor<2x3xf32>".
std::string mlir_type(const Type& type);

/// Lists the names that are missing, have another type or are not expected, at most twenty: "a:
/// expected f32[2], got none; b: expected none, got i32[]; and 7 more". Returns "" if there are no
/// differences.
std::string type_differences(const Tree<Type>& expected, const Tree<Type>& got);

/// Returns the types of named values that have a member type().
template <class Value>
Tree<Type> types_of(const Tree<Value>& values) {
  Tree<Type> out;
  for (const auto& [name, value] : values) out.emplace_hint(out.end(), name, value.type());
  return out;
}

}  // namespace axle
