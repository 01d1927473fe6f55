#include "ir/type.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace axle {

int64_t num_elements(const Shape& shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

std::string to_text(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

Shape row_major_strides(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

std::string to_text(const Type& type) {
  return std::string(name_of(type.dtype)) + to_text(type.dims);
}

std::string mlir_type(const Type& type) {
  std::string out = "tensor<";
  for (int64_t d : type.dims) fmt::format_to(std::back_inserter(out), "{}x", d);
  return out.append(mlir_name(type.dtype)).append(">");
}

}  // namespace axle
