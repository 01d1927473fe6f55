#include "ir/type.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/lists.h"
#include "base/text/text.h"

namespace axle {

bool is_countable(const Shape& shape) {
  return checked_product(shape).value_or(kMaxElements + 1) <= kMaxElements;
}

int64_t num_elements(const Shape& shape) {
  const auto n = checked_product(shape);
  if (!n || *n > kMaxElements) {
    throw ShapeError(fmt::format("shape {}: expected at most {} elements; lower its dims",
                                 to_text(shape), kMaxElements));
  }
  return *n;
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

std::string to_text(const std::vector<Type>& types) {
  std::string out;
  for (const Type& type : types) out += (out.empty() ? "" : ", ") + to_text(type);
  return out.empty() ? "nothing" : out;
}

std::string too_large_text(const Type& type) {
  double bytes = static_cast<double>(size_bytes(type.dtype));
  for (const int64_t d : type.dims) bytes *= static_cast<double>(d);
  return fmt::format("{} takes {:.2g} bytes, more than any machine has", to_text(type), bytes);
}

std::string mlir_type(const Type& type) {
  std::string out;
  out.reserve(16 + 8 * type.dims.size());
  out = "tensor<";
  for (const int64_t d : type.dims) out.append(fmt::format_int(d).str()) += 'x';
  return out.append(mlir_name(type.dtype)).append(">");
}

namespace {

constexpr size_t kMax = 20;

std::string text_at(const Tree<Type>& types, const std::string& name) {
  const auto it = types.find(name);
  return it == types.end() ? "none" : to_text(it->second);
}

}  // namespace

std::string type_differences(const Tree<Type>& expected, const Tree<Type>& got) {
  Tree<Type> all = expected;
  all.insert(got.begin(), got.end());
  std::vector<std::string> lines;
  for (const auto& [name, type] : all) {
    const std::string want = text_at(expected, name), is = text_at(got, name);
    if (want != is) lines.push_back(fmt::format("{}: expected {}, got {}", name, want, is));
  }
  if (const size_t n = lines.size(); n > kMax) {
    lines.resize(kMax);
    lines.push_back(fmt::format("and {} more", n - kMax));
  }
  return join(lines, "; ");
}

}  // namespace axle
