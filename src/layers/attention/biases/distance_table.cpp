#include "layers/attention/biases/distance_table.h"

#include "layers/attention/relative_places.h"
#include "layers/mesh_axes.h"
#include "nn/invocation.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/movement/broadcast.h"
#include "ops/movement/index.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"

namespace axle {
DistanceTable DistanceTable::with_copies_for(int64_t num_rows) const {
  DistanceTable out = *this;
  const InvocationOptions& call = Invocation::current().options();
  const PartitionSpec rows = restrict(PartitionSpec{{kBatchAxes}}, {num_rows}, call.mesh);
  const int64_t num_copies = num_parts(rows, call.mesh);
  if (!call.training || num_copies == 1) return out;
  out.num_rows_ = num_rows;
  out.copies_DCN_ = sharding_constraint(
      broadcast_to(expand_dims(bias_DN_, 1), {bias_DN_.dim(0), num_copies, bias_DN_.dim(1)}),
      {{kReplicated, kBatchAxes, kShardAxes}});
  return out;
}

Tensor DistanceTable::operator()(const TokenPlaces& places) const {
  if (places.are_consecutive) return at_consecutive(places);
  const Tensor index = index_of_(places.key_positions - places.query_positions);
  return move_axis(take(bias_DN_, index), -1, -3);
}

// Takes each distance once: then the gradient of the table has a summand for each, not for each
// pair of places.
Tensor DistanceTable::at_consecutive(const TokenPlaces& places) const {
  const int64_t num_queries = places.query_positions.dim(-2),
                num_keys = places.key_positions.dim(-1);
  const Tensor least = first_distance(places) - static_cast<double>(num_queries - 1);
  const Tensor index = index_of_(iota({num_queries + num_keys - 1}, 0) + least);
  const auto of_pairs = [&](const Tensor& table) {
    const Tensor by_distance = expand_dims(move_axis(take(table, index), 0, -1), -2);
    if (num_queries == 1) return by_distance;
    Shape for_queries = by_distance.shape();
    for_queries.end()[-2] = num_queries;
    return aligned_by_distance(broadcast_to(by_distance, for_queries), num_keys);
  };
  if (!copies_DCN_) return of_pairs(bias_DN_);
  return repeat(of_pairs(copies_DCN_), num_rows_ / copies_DCN_.dim(1), 0);
}

}  // namespace axle
