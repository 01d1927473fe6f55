#include "ops/movement/window_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ops/batching.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/movement/broadcast.h"
#include "ops/movement/window_walk.h"
#include "ops/reductions/reduce.h"
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
    last.push_back(std::min(limit, operand.dim(d) - a.sizes[static_cast<size_t>(d)]));
  if (std::ranges::all_of(last, [&](int64_t v) { return v == last[0]; })) {
    return full_like(indices, last.empty() ? 0 : last[0]);
  }
  const HostTensor table({static_cast<int64_t>(last.size())}, std::span<const int64_t>(last));
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
  if (components != static_cast<int64_t>(dims.index_map.size())) {
    shape_error(op, fmt::format("expected an index_map of {} dims, one for each component of a "
                                "position, got {}",
                                components, to_text(dims.index_map)));
  }
  for (int64_t d = 0; d < operand.rank(); ++d) {
    const int64_t size = sizes[static_cast<size_t>(d)];
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

}  // namespace axle
