#include "ops/movement/window_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reductions/reductions.h"
#include "ops/rules.h"

namespace axle {
namespace {

const WindowAttributes& slice_window(const OpNode& op) { return op.attrs<WindowAttributes>(); }

// Returns, for each component, the last position whose window is inside the operand, in the shape
// of the indices.
Tensor last_positions(const WindowAttributes& a, const Tensor& operand, const Tensor& indices) {
  // An index of a narrow dtype may be unable to reach the last position.
  const int64_t limit = dispatch(indices.dtype(), []<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, uint64_t>)
      return std::numeric_limits<int64_t>::max();
    else if constexpr (std::is_integral_v<Computed<T>>)
      return static_cast<int64_t>(IntegerRange<T>::kMax);
    else
      return int64_t{0};
  });
  std::vector<int64_t> last;
  for (const int64_t d : a.dims.index_map)
    last.push_back(std::min(limit, operand.dim(d) - a.sizes[d]));
  if (std::ranges::all_of(last, [&](int64_t v) { return v == last[0]; })) {
    return full_like(indices, last.empty() ? 0 : last[0]);
  }
  const HostTensor table({std::ssize(last)}, std::span<const int64_t>(last));
  return broadcast_in_dim(constant(table.astype(indices.dtype())), indices.shape(),
                          {a.dims.index_vector_dim});
}

}  // namespace

std::string WindowAttributes::text() const {
  std::string out =
      fmt::format("sizes = {}, offset = {}, collapsed = {}, index_map = {}, index_vector_dim = {}",
                  to_text(sizes), to_text(dims.offset), to_text(dims.collapsed),
                  to_text(dims.index_map), dims.index_vector_dim);
  if (!dims.operand_batch.empty()) {
    out +=
        fmt::format(", batch = {} x {}", to_text(dims.operand_batch), to_text(dims.indices_batch));
  }
  if (promises.in_bounds) out += ", in_bounds";
  if (promises.sorted) out += ", sorted";
  if (promises.unique) out += ", unique";
  return out;
}

bool is_dropped(const GatherDims& dims, int64_t d) {
  return has_dim(dims.collapsed, d) || has_dim(dims.operand_batch, d);
}

void check_gather_dims(std::string_view op, const GatherDims& dims, const Tensor& operand,
                       const Tensor& indices) {
  const Values operands = {operand, indices};
  if (!is_integer(indices.dtype())) {
    shape_error(op, fmt::format("indices must be integers, got {}", name_of(indices.dtype())),
                operands);
  }
  const auto check = [&](std::string_view what, const std::vector<int64_t>& list, int64_t rank) {
    std::vector<int64_t> sorted = list;
    std::ranges::sort(sorted);
    const bool fits = sorted.empty() || (sorted.front() >= 0 && sorted.back() < rank);
    if (fits && std::ranges::adjacent_find(sorted) == sorted.end()) return;
    shape_error(op,
                fmt::format("expected {} to name dims from 0 to {} at most once, got {}", what,
                            rank - 1, to_text(list)),
                operands);
  };
  check("collapsed", dims.collapsed, operand.rank());
  check("operand_batch", dims.operand_batch, operand.rank());
  check("index_map", dims.index_map, operand.rank());
  check("indices_batch", dims.indices_batch, indices.rank());
  for (const int64_t d : dims.operand_batch) {
    if (!has_dim(dims.collapsed, d) && !has_dim(dims.index_map, d)) continue;
    shape_error(
        op,
        fmt::format("expected operand_batch without dims of collapsed and index_map, got "
                    "{}, {} and {}",
                    to_text(dims.operand_batch), to_text(dims.collapsed), to_text(dims.index_map)),
        operands);
  }
  if (has_dim(dims.indices_batch, dims.index_vector_dim)) {
    shape_error(op,
                fmt::format("expected indices_batch without the index_vector_dim {}, got {}",
                            dims.index_vector_dim, to_text(dims.indices_batch)),
                operands);
  }
}

void check_windows(const OpNode& op) {
  const auto& [dims, sizes] = std::tie(slice_window(op).dims, slice_window(op).sizes);
  const Tensor &operand = op.inputs[0], &indices = op.inputs[1];
  check_gather_dims(op.rules->name(), dims, operand, indices);
  if (dims.index_vector_dim < 0 || dims.index_vector_dim > indices.rank()) {
    shape_error(op, fmt::format("expected an index_vector_dim from 0 to {}, got {}", indices.rank(),
                                dims.index_vector_dim));
  }
  const int64_t components =
      dims.index_vector_dim == indices.rank() ? 1 : indices.dim(dims.index_vector_dim);
  if (components != std::ssize(dims.index_map)) {
    shape_error(op, fmt::format("expected an index_map of {} dims, one for each component of a "
                                "position, got {}",
                                components, to_text(dims.index_map)));
  }
  for (int64_t d = 0; d < operand.rank(); ++d) {
    const int64_t size = sizes[d];
    const bool dropped = is_dropped(dims, d);
    if (size < 0 || size > operand.dim(d) || (dropped && size > 1)) {
      shape_error(op, fmt::format("expected a window of size 0 to {} along dim {}, got {}",
                                  dropped ? std::min<int64_t>(operand.dim(d), 1) : operand.dim(d),
                                  d, size));
    }
  }
  if (dims.operand_batch.size() != dims.indices_batch.size()) {
    shape_error(op, fmt::format("batch dims must pair up, got {} and {}",
                                to_text(dims.operand_batch), to_text(dims.indices_batch)));
  }
  for (size_t i = 0; i < dims.operand_batch.size(); ++i) {
    if (operand.dim(dims.operand_batch[i]) != indices.dim(dims.indices_batch.at(i))) {
      shape_error(op, fmt::format("batch dims differ, operand[{}] = {} and indices[{}] = {}",
                                  dims.operand_batch[i], operand.dim(dims.operand_batch[i]),
                                  dims.indices_batch[i], indices.dim(dims.indices_batch[i])));
    }
  }
}

Shape slices_shape(const OpNode& op) {
  const auto& [dims, sizes] = std::tie(slice_window(op).dims, slice_window(op).sizes);
  Shape in_window, positions;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const auto dim = static_cast<int64_t>(d);
    if (!is_dropped(dims, dim)) in_window.push_back(sizes[d]);
  }
  for (int64_t d = 0; d < op.inputs[1].rank(); ++d) {
    if (d != dims.index_vector_dim) positions.push_back(op.inputs[1].dim(d));
  }
  if (in_window.size() != dims.offset.size()) {
    shape_error(op, fmt::format("expected an offset of {} dims, those of a window, got {}",
                                in_window.size(), to_text(dims.offset)));
  }
  const auto rank = static_cast<int64_t>(in_window.size() + positions.size());
  for (size_t i = 0; i < dims.offset.size(); ++i) {
    if (dims.offset[i] < (i == 0 ? 0 : dims.offset[i - 1] + 1) || dims.offset[i] >= rank) {
      shape_error(op, fmt::format("expected offset dims that ascend from 0 to {}, got {}", rank - 1,
                                  to_text(dims.offset)));
    }
  }
  Shape out;
  for (size_t d = 0, w = 0, p = 0; d < in_window.size() + positions.size(); ++d) {
    out.push_back(has_dim(dims.offset, static_cast<int64_t>(d)) ? in_window.at(w++)
                                                                : positions.at(p++));
  }
  return out;
}

Tensor positions_inside(const WindowAttributes& a, const Tensor& operand, const Tensor& indices) {
  return minimum(maximum(indices, 0), last_positions(a, operand, indices));
}

Tensor windows_inside(const WindowAttributes& a, const Tensor& operand, const Tensor& indices,
                      const Tensor& slices) {
  Tensor inside = indices <= last_positions(a, operand, indices);
  if (!is_unsigned(indices.dtype())) inside = (indices >= 0) & inside;
  if (a.dims.index_vector_dim < indices.rank())
    inside = reduce_and(inside, {a.dims.index_vector_dim});
  std::vector<int64_t> positions;
  for (int64_t d = 0; d < slices.rank(); ++d) {
    if (!has_dim(a.dims.offset, d)) positions.push_back(d);
  }
  return broadcast_in_dim(inside, slices.shape(), positions);
}

std::string mlir_dims(const GatherDims& dims, const WindowDimNames& names) {
  std::string out;
  const auto add = [&](std::string_view key, const std::vector<int64_t>& list) {
    if (!list.empty()) out += fmt::format("{} = [{}], ", key, fmt::join(list, ", "));
  };
  add(names.offset, dims.offset);
  add(names.collapsed, dims.collapsed);
  add(names.operand_batch, dims.operand_batch);
  add(names.indices_batch, dims.indices_batch);
  add(names.index_map, dims.index_map);
  return fmt::format("{}index_vector_dim = {}", out, dims.index_vector_dim);
}

GatherDims batched_dims(const GatherDims& dims, bool has_operand, bool has_indices) {
  GatherDims out = dims;
  out.offset = shifted(dims.offset);
  if (has_operand) {
    for (auto* list : {&out.collapsed, &out.operand_batch, &out.index_map}) *list = shifted(*list);
  }
  if (has_indices) {
    out.indices_batch = shifted(dims.indices_batch);
    ++out.index_vector_dim;
  }
  if (has_operand && has_indices) {
    out.operand_batch = prepended(0, out.operand_batch);
    out.indices_batch = prepended(0, out.indices_batch);
  } else if (has_operand) {
    out.offset = prepended(0, out.offset);
  }
  return out;
}

WindowPromises batched_promises(WindowPromises promises, bool has_operand, bool has_indices) {
  // The positions of different examples may be the same ones of a common operand.
  if (has_indices) promises.sorted = false;
  if (has_indices && !has_operand) promises.unique = false;
  return promises;
}

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
  const auto at = [](const Shape& s, int64_t d) { return s[d]; };

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
            index[i] * at(operand_strides, dims.operand_batch[batch - dims.indices_batch.begin()]);
      }
    }
    for (size_t c = 0; c < dims.index_map.size(); ++c) {
      const int64_t start = values[first + static_cast<int64_t>(c) * component_stride];
      const int64_t last = at(operand, dims.index_map[c]) - at(sizes, dims.index_map[c]);
      const int64_t moved = std::clamp<int64_t>(start, 0, last);
      p.inside &= moved == start;
      p.operand += moved * at(operand_strides, dims.index_map[c]);
    }
    positions_.push_back(p);
  });
}

LinePairs::LinePairs(const Shape& shape, const StridedView& a, const StridedView& b)
    : first_{a.offset, b.offset, 0, 0, 1}, num_lines_(num_elements(shape) == 0 ? 0 : 1) {
  // Neighbouring dims that are evenly spaced in both views become one.
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    if (!outer_.empty() && a_steps_.back() == a.strides[d] * shape[d] &&
        b_steps_.back() == b.strides[d] * shape[d]) {
      outer_.back() *= shape[d];
      a_steps_.back() = a.strides[d];
      b_steps_.back() = b.strides[d];
      continue;
    }
    outer_.push_back(shape[d]);
    a_steps_.push_back(a.strides[d]);
    b_steps_.push_back(b.strides[d]);
  }
  if (outer_.empty()) return;
  first_ = {a.offset, b.offset, a_steps_.back(), b_steps_.back(), outer_.back()};
  outer_.pop_back();
  a_steps_.pop_back();
  b_steps_.pop_back();
  for (const int64_t size : outer_) num_lines_ *= size;
}

void copy_strided(const Shape& shape, const HostTensor& x, const StridedView& from, HostTensor& y,
                  const StridedView& to) {
  dispatch_size(y.dtype(), [&]<class T>(std::type_identity<T>) {
    const T* const in = x.elements<T>().data();
    T* const out = y.elements<T>().data();
    LinePairs(shape, from, to).for_each([&](const LinePair& line) {
      const T* const p = in + line.a;
      T* const q = out + line.b;
      if (line.b_step == 1 && line.a_step == 1) {
        std::copy_n(p, line.count, q);
      } else if (line.b_step == 1 && line.a_step == 0) {
        std::fill_n(q, line.count, *p);
      } else {
        for (int64_t k = 0; k < line.count; ++k) q[k * line.b_step] = p[k * line.a_step];
      }
    });
  });
}

}  // namespace axle
