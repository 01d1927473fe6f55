// The structs of options that public tensor functions take, field by field.
#pragma once

#include <string_view>

#include "ops/movement/approx_max_k.h"
#include "ops/movement/gather.h"
#include "ops/movement/scatter.h"
#include "ops/products/convolution.h"
#include "ops/products/dot.h"
#include "ops/random/prng.h"
#include "ops/windows/pool.h"
#include "ops/windows/window.h"
#include "transform/control_flow/scan.h"
#include "transform/control_flow/sequential_map.h"
#include "transform/kernel/kernel_call.h"
#include "transform/linalg/triangular_solve.h"
#include "transform/vmap.h"

namespace axle {

/// Each function calls visit(name, field) for the fields of a struct.
template <class F>
void visit_fields(GatherOptions& o, F visit) {
  visit("mode", o.mode);
  visit("fill", o.fill);
  visit("indices_are_sorted", o.indices_are_sorted);
  visit("unique_indices", o.unique_indices);
}
template <class F>
void visit_fields(ScatterOptions& o, F visit) {
  visit("mode", o.mode);
  visit("indices_are_sorted", o.indices_are_sorted);
  visit("unique_indices", o.unique_indices);
}
template <class F>
void visit_fields(ApproxMaxKOptions& o, F visit) {
  visit("recall_target", o.recall_target);
  visit("reduction_input_size_override", o.reduction_input_size_override);
  visit("aggregate_to_topk", o.aggregate_to_topk);
}
template <class F>
void visit_fields(GatherDims& o, F visit) {
  visit("offset", o.offset);
  visit("collapsed", o.collapsed);
  visit("operand_batch", o.operand_batch);
  visit("indices_batch", o.indices_batch);
  visit("index_map", o.index_map);
  visit("index_vector_dim", o.index_vector_dim);
}
template <class F>
void visit_fields(DotOptions& o, F visit) {
  visit("result_dtype", o.result_dtype);
  visit("precision", o.precision);
  visit("algorithm", o.algorithm);
}
template <class F>
void visit_fields(DotDims& o, F visit) {
  visit("a_contracting", o.a_contracting);
  visit("b_contracting", o.b_contracting);
  visit("a_batch", o.a_batch);
  visit("b_batch", o.b_batch);
}
template <class F>
void visit_fields(ConvolutionDims& o, F visit) {
  visit("x", o.x);
  visit("kernel", o.kernel);
  visit("y", o.y);
}
template <class F>
void visit_fields(ConvolutionOptions& o, F visit) {
  visit("strides", o.strides);
  visit("padding", o.padding);
  visit("input_dilation", o.input_dilation);
  visit("kernel_dilation", o.kernel_dilation);
  visit("dims", o.dims);
  visit("feature_groups", o.feature_groups);
  visit("batch_groups", o.batch_groups);
  visit("result_dtype", o.result_dtype);
  visit("precision", o.precision);
}
template <class F>
void visit_fields(PoolOptions& o, F visit) {
  visit("window", o.window);
  visit("strides", o.strides);
  visit("padding", o.padding);
}
template <class F>
void visit_fields(Window& o, F visit) {
  visit("sizes", o.sizes);
  visit("strides", o.strides);
  visit("padding", o.padding);
  visit("base_dilations", o.base_dilations);
  visit("window_dilations", o.window_dilations);
}
template <class F>
void visit_fields(TriangularSolveOptions& o, F visit) {
  visit("lower", o.lower);
  visit("transpose", o.transpose);
  visit("unit_diagonal", o.unit_diagonal);
  visit("left_side", o.left_side);
}
template <class F>
void visit_fields(ScanOptions& o, F visit) {
  visit("reverse", o.reverse);
  visit("unroll", o.unroll);
}
template <class F>
void visit_fields(SequentialMapOptions& o, F visit) {
  visit("batch_size", o.batch_size);
}
template <class F>
void visit_fields(VmapOptions& o, F visit) {
  visit("in_axes", o.in_axes);
  visit("out_axes", o.out_axes);
  visit("axis_size", o.axis_size);
  visit("mesh_axes", o.mesh_axes);
}
template <class F>
void visit_fields(KernelOptions& o, F visit) {
  visit("specs", o.specs);
}
namespace random {
template <class F>
void visit_fields(PrngOptions& o, F visit) {
  visit("threefry", o.threefry);
  visit("wide_keys", o.wide_keys);
}
}  // namespace random

namespace detail {
struct IgnoreField {
  void operator()(std::string_view, auto&) const {}
};
}  // namespace detail
template <class T>
concept HasOptionFields = requires(T options) {
  visit_fields(options, detail::IgnoreField{});
};

}  // namespace axle
