// Rows of ops/collectives. They are called inside of shard_map, over the axes of its mesh.
#include "functions/function.h"
#include "ops/ops.h"

namespace axle {
namespace {

Tensor ragged_all_to_all_by_parts(const Tensor& operand, const Tensor& output,
                                  const Tensor& input_offsets, const Tensor& send_sizes,
                                  const Tensor& output_offsets, const Tensor& recv_sizes,
                                  const DimAxes& axes) {
  return ragged_all_to_all(operand, output,
                           {.input_offsets = input_offsets,
                            .send_sizes = send_sizes,
                            .output_offsets = output_offsets,
                            .recv_sizes = recv_sizes},
                           axes);
}

std::vector<Function> collective_rows() {
  return {function("psum(x, axes)", psum),
          function("pmean(x, axes)", pmean),
          function("pmax(x, axes)", pmax),
          function("pmin(x, axes)", pmin),
          function("axis_index(axes)", axis_index),
          function("all_gather(x, axes, dim)", all_gather),
          function("reduce_scatter(x, axes, dim)", reduce_scatter),
          function("all_to_all(x, axes, split_dim, concat_dim)", all_to_all),
          function("ppermute(x, axes, pairs)", ppermute),
          function("ragged_all_to_all(operand, output, input_offsets, send_sizes, output_offsets, "
                   "recv_sizes, axes)",
                   ragged_all_to_all_by_parts),
          function("sharding_constraint(x, spec)", sharding_constraint)};
}

const FunctionFamily kCollectives(collective_rows);

}  // namespace
}  // namespace axle
