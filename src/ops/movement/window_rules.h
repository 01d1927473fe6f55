// What the rules of gather and scatter share. "Slices" are the result of gather and the updates of
// scatter.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/op_rules.h"
#include "ops/movement/gather_dims.h"

namespace axle {

/// The promises of GatherOptions and ScatterOptions. `in_bounds` is also set where a rule does not
/// care what becomes of windows outside.
struct WindowPromises {
  bool in_bounds = false, sorted = false, unique = false;
};

struct WindowAttributes : Attributes {
  WindowAttributes(GatherDims d, Shape s, WindowPromises p)
      : dims(std::move(d)), sizes(std::move(s)), promises(p) {}
  GatherDims dims;
  Shape sizes;  // size of the window along each dim of the operand
  WindowPromises promises;
  std::string text() const override;
};

/// True if windows have size 1 along dim d of the operand, so that the slices lack it.
bool is_dropped(const GatherDims& dims, int64_t d);

/// Throws ShapeError, naming `op`, if dimension numbers name dims that the operand or the indices
/// lack, or name a dim twice.
void check_gather_dims(std::string_view op, const GatherDims& dims, const Tensor& operand,
                       const Tensor& indices);
/// Throws ShapeError if the dimension numbers do not fit the first two operands.
void check_windows(const OpNode& op);
/// Returns the shape of the slices. Throws ShapeError if the offset dims do not fit.
Shape slices_shape(const OpNode& op);

/// Returns the positions moved so that their windows are inside the operand.
Tensor positions_inside(const WindowAttributes& a, const Tensor& operand, const Tensor& indices);
/// Returns a predicate of the shape of `slices`: true for windows inside the operand.
Tensor windows_inside(const WindowAttributes& a, const Tensor& operand, const Tensor& indices,
                      const Tensor& slices);

/// Names of the dimension lists in the MLIR attribute of gather or scatter.
struct WindowDimNames {
  std::string_view offset, collapsed, operand_batch, indices_batch, index_map;
};
std::string mlir_dims(const GatherDims& dims, const WindowDimNames& names);

/// Returns the dims of windows over batched slices. The batch is a batch dim if both the operand
/// and the indices have it, a position dim if only the indices have it, else a dim of each window.
GatherDims batched_dims(const GatherDims& dims, bool has_operand, bool has_indices);
/// Returns the promises that still hold over batched slices.
WindowPromises batched_promises(WindowPromises promises, bool has_operand, bool has_indices);

}  // namespace axle
