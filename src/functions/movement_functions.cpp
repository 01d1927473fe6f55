// Rows of the functions that make tensors or rearrange their elements at positions known while
// tracing.
#include "functions/function.h"
#include "ops/ops.h"

namespace axle {
namespace {

std::vector<Function> creation() {
  return {function("full(shape, value, dtype=f32)", full),
          function("zeros(shape, dtype=f32)", zeros),
          function("ones(shape, dtype=f32)", ones),
          function("zeros_like(t)", zeros_like),
          function("full_like(t, value)", full_like),
          function("scalar(value, dtype=f32)", scalar),
          function("constant(value)", constant),
          function("iota(shape, axis, dtype=i32)", iota),
          function("linspace(start, stop, count, dtype=f32, last=inclusive)", linspace),
          function("eye(rows, columns, offset=0, dtype=f32)", eye),
          function("tri(rows, columns, offset=0, dtype=f32)", tri)};
}

std::vector<Function> shapes() {
  return {function("reshape(x, shape)", reshape),
          function("transpose(x, perm)", transpose),
          function("swap_axes(x, a, b)", swap_axes),
          function("move_axis(x, from, to)", move_axis),
          function("squeeze(x, axes)", squeeze),
          function("expand_dims(x, axis)", expand_dims),
          function("flatten(x, first=0, last=-1)", flatten),
          function("unflatten(x, axis, sizes)", unflatten),
          function("reverse(x, axes)", overload<Tensor(const Tensor&, const Shape&)>(reverse)),
          function("broadcast_in_dim(x, shape, dims)", broadcast_in_dim),
          function("broadcast_to(x, shape)", broadcast_to),
          function("broadcast_together(a, b, op=broadcast_together)", broadcast_together),
          function("meshgrid(axes, order=cartesian)", meshgrid),
          function("tril(x, offset=0)", tril),
          function("triu(x, offset=0)", triu),
          function("diagonal(x, offset=0)", diagonal),
          function("diagonal_matrix(x, offset=0)", diagonal_matrix),
          function("matrix_trace(x, offset=0)", matrix_trace)};
}

std::vector<Function> slices() {
  using PadWithTensor =
      Tensor(const Tensor&, const Tensor&, const Shape&, const Shape&, const Shape&);
  using PadWithNumber = Tensor(const Tensor&, Scalar, const Shape&, const Shape&, const Shape&);
  return {
      function("slice(x, starts, limits, strides=[])",
               overload<Tensor(const Tensor&, const Shape&, const Shape&, const Shape&)>(slice)),
      function("slice_in_dim(x, axis, start, limit, stride=1)", slice_in_dim),
      function("index_in_dim(x, axis, i)", index_in_dim),
      function("pad(x, value, low, high, interior=[])", overload<PadWithTensor>(pad)),
      function("pad(x, value, low, high, interior=[])", overload<PadWithNumber>(pad)),
      function("pad_in_dim(x, axis, low, high, value=0)", pad_in_dim),
      function("concatenate(parts, axis)", concatenate),
      function("stack(parts, axis=0)", stack),
      function("split(x, sizes, axis)",
               overload<Values(const Tensor&, const Shape&, int64_t)>(split)),
      function("split_equally(x, count, axis)", split_equally),
      function("roll(x, shift, axis)", roll),
      function("tile(x, repeats)", tile),
      function("repeat(x, count, axis)", repeat)};
}

std::vector<Function> annotations() {
  return {function("name(x, tag)", name),
          function("tap(name, x)", tap),
          function("tap_gradient(name, x)", tap_gradient),
          function("stop_gradient(x)", stop_gradient),
          function("optimization_barrier(values)", optimization_barrier),
          function("place(x, memory)", place)};
}

const FunctionFamily kCreation(creation), kShapes(shapes), kSlices(slices),
    kAnnotations(annotations);

}  // namespace
}  // namespace axle
