#include "ops/movement/window_walk.h"

#include <algorithm>
#include <limits>

#include "ops/movement/strided.h"

namespace axle {

HostTensor wide_indices(const HostTensor& indices) {
  HostTensor out = indices.astype(DType::kI64);
  if (indices.dtype() != DType::kU64) return out;
  for (int64_t& v : out.values<int64_t>()) {
    if (v < 0) v = std::numeric_limits<int64_t>::max();
  }
  return out;
}

WindowWalk::WindowWalk(const GatherDims& dims, const Shape& sizes, const Shape& operand,
                       const HostTensor& indices, const Shape& slices) {
  const Shape operand_strides = row_major_strides(operand);
  const Shape slice_strides = row_major_strides(slices);
  const Shape index_strides = row_major_strides(indices.shape());
  const auto at = [](const Shape& s, int64_t d) { return s[static_cast<size_t>(d)]; };

  // Dims within a window: their sizes, and their strides in the operand and in the slices.
  Shape window_sizes, window_operand, window_slices;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (has_dim(dims.collapsed, static_cast<int64_t>(d)) ||
        has_dim(dims.operand_batch, static_cast<int64_t>(d)))
      continue;
    window_slices.push_back(at(slice_strides, dims.offset[window_sizes.size()]));
    window_operand.push_back(operand_strides[d]);
    window_sizes.push_back(sizes[d]);
  }
  for_each_index(window_sizes, [&](const Shape& index) {
    Element e{0, 0};
    for (size_t d = 0; d < index.size(); ++d) {
      e.operand += index[d] * window_operand[d];
      e.slices += index[d] * window_slices[d];
    }
    window_.push_back(e);
  });

  // Dims over the positions: dims of the indices without index_vector_dim, their sizes, and the
  // strides of the dims of the slices that correspond to them in order.
  Shape position_dims, position_sizes, position_slices;
  for (int64_t d = 0; d < indices.type().rank(); ++d) {
    if (d == dims.index_vector_dim) continue;
    position_dims.push_back(d);
    position_sizes.push_back(at(indices.shape(), d));
  }
  for (size_t d = 0; d < slices.size(); ++d) {
    if (!has_dim(dims.offset, static_cast<int64_t>(d))) position_slices.push_back(slice_strides[d]);
  }
  const int64_t component_stride =
      dims.index_vector_dim < indices.type().rank() ? at(index_strides, dims.index_vector_dim) : 0;
  const HostTensor wide = wide_indices(indices);
  const auto values = wide.values<int64_t>();
  for_each_index(position_sizes, [&](const Shape& index) {
    Position p{0, 0, true};
    int64_t first = 0;  // offset of this position's first component in the indices
    for (size_t i = 0; i < index.size(); ++i) {
      first += index[i] * at(index_strides, position_dims[i]);
      p.slices += index[i] * position_slices[i];
      const auto batch = std::ranges::find(dims.indices_batch, position_dims[i]);
      if (batch != dims.indices_batch.end()) {
        p.operand +=
            index[i] *
            at(operand_strides,
               dims.operand_batch[static_cast<size_t>(batch - dims.indices_batch.begin())]);
      }
    }
    for (size_t c = 0; c < dims.index_map.size(); ++c) {
      const int64_t start =
          values[static_cast<size_t>(first + static_cast<int64_t>(c) * component_stride)];
      const int64_t last = at(operand, dims.index_map[c]) - at(sizes, dims.index_map[c]);
      const int64_t moved = std::clamp<int64_t>(start, 0, last);
      p.inside &= moved == start;
      p.operand += moved * at(operand_strides, dims.index_map[c]);
    }
    positions_.push_back(p);
  });
}

}  // namespace axle
