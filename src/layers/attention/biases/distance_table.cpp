#include "layers/attention/biases/distance_table.h"

#include "layers/mesh_axes.h"
#include "nn/invocation.h"
#include "ops/annotate.h"
#include "ops/movement/broadcast.h"
#include "ops/movement/index.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"

namespace axle {

DistanceTable DistanceTable::of_blocks(const Tensor& bias_DN, int64_t num_rows) {
  DistanceTable out(bias_DN);
  const InvocationOptions& call = Invocation::current().options();
  const PartitionSpec rows = restrict(PartitionSpec{{kBatchAxes}}, {num_rows}, call.mesh);
  const int64_t num_copies = num_parts(rows, call.mesh);
  if (!call.training || num_copies == 1) return out;
  out.num_rows_ = num_rows;
  out.copies_DCN_ = sharding_constraint(
      broadcast_to(expand_dims(bias_DN, 1), {bias_DN.dim(0), num_copies, bias_DN.dim(1)}),
      {{kReplicated, kBatchAxes, kShardAxes}});
  return out;
}

Tensor DistanceTable::operator()(const Tensor& number) const {
  const bool have_rows_numbers = number.rank() == 3;
  if (!copies_DCN_ || have_rows_numbers) return move_axis(take(bias_DN_, number), -1, -3);
  const Tensor taken_TSCN = take(copies_DCN_, number);
  return repeat(transpose(taken_TSCN, {2, 3, 0, 1}), num_rows_ / copies_DCN_.dim(1), 0);
}

}  // namespace axle
