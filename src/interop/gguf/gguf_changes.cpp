#include "interop/gguf/gguf_changes.h"

#include <cstring>
#include <utility>

#include "base/error.h"

namespace axle {
namespace {

// Moves the rows of each head: row `from(row)` of the head becomes its row `row`.
template <class From>
HostTensor with_moved_rows(const HostTensor& t, int64_t head_dim, From from) {
  HostTensor out(t.type());
  if (out.size() == 0) return out;
  const int64_t rows = t.shape()[0];
  const size_t row_bytes = t.bytes().size() / static_cast<size_t>(rows);
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t in_head = row % head_dim;
    std::memcpy(out.bytes().data() + static_cast<size_t>(row) * row_bytes,
                t.bytes().data() + static_cast<size_t>(row - in_head + from(in_head)) * row_bytes,
                row_bytes);
  }
  return out;
}

template <class T>
HostTensor transposed(const HostTensor& t) {
  const int64_t rows = t.shape()[0], columns = t.shape()[1];
  HostTensor out(Type{t.dtype(), {columns, rows}});
  const std::span<const T> from = t.elements<T>();
  const std::span<T> to = out.elements<T>();
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      to[static_cast<size_t>(c * rows + r)] = from[static_cast<size_t>(r * columns + c)];
  return out;
}

HostTensor transposed_any(const HostTensor& t) {
  if (t.dtype() == DType::kF64) return transposed<uint64_t>(t);
  return size_bytes(t.dtype()) == 2 ? transposed<uint16_t>(t)
                                    : transposed<uint32_t>(t.astype(DType::kF32));
}

// Numbers of f64 stay such: those that f32 can't hold are refused by name later.
HostTensor plus(const HostTensor& t, float number) {
  const auto add = [&](auto values) {
    for (auto& value : values) value += number;
  };
  const bool is_wide = t.dtype() == DType::kF64;
  HostTensor out = t.astype(is_wide ? DType::kF64 : DType::kF32);
  if (is_wide)
    add(out.values<double>());
  else
    add(out.values<float>());
  return out;
}

}  // namespace

bool can_change(TensorChange change, const Shape& shape, int64_t head_dim) {
  if (change == TensorChange::kTransposed) return shape.size() == 2;
  return change != TensorChange::kNeighbouringPairs ||
         (!shape.empty() && head_dim > 0 && head_dim % 2 == 0 && shape[0] % head_dim == 0);
}

Shape changed(TensorChange change, Shape shape) {
  if (change == TensorChange::kTransposed) std::swap(shape[0], shape[1]);
  return shape;
}

HostTensor from_gguf(TensorChange change, HostTensor tensor, int64_t head_dim) {
  const int64_t half = head_dim / 2;
  switch (change) {
    case TensorChange::kNone:
      return tensor;
    case TensorChange::kNeighbouringPairs:
      return with_moved_rows(tensor, head_dim,
                             [&](int64_t row) { return row % half * 2 + row / half; });
    case TensorChange::kTransposed:
      return transposed_any(tensor);
    case TensorChange::kOneAdded:
      return plus(tensor, -1);
  }
  AXLE_CHECK(false, "a change of a tensor");
}

HostTensor to_gguf(TensorChange change, HostTensor tensor, int64_t head_dim) {
  const int64_t half = head_dim / 2;
  switch (change) {
    case TensorChange::kNone:
      return tensor;
    case TensorChange::kNeighbouringPairs:
      return with_moved_rows(tensor, head_dim,
                             [&](int64_t row) { return row % 2 * half + row / 2; });
    case TensorChange::kTransposed:
      return transposed_any(tensor);
    case TensorChange::kOneAdded:
      return plus(tensor, 1);
  }
  AXLE_CHECK(false, "a change of a tensor");
}

}  // namespace axle
