#include "layers/attention/biases/distance_table.h"

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
namespace {

// Returns element T - 1 + s - t of each row of x, [.., T + S - 1], for each t and s: [.., T, S].
// Rows of T + S - 2 elements, cut from the repeated row, begin one element earlier each.
Tensor by_diagonals(const Tensor& x, int64_t num_queries, int64_t num_keys) {
  if (num_queries == 1) return expand_dims(x, -2);
  const int64_t size = x.dim(-1);
  Shape repeated = x.shape();
  repeated.insert(repeated.end() - 1, num_queries + 1);
  const Tensor flat = flatten(broadcast_to(expand_dims(x, -2), repeated), -2, -1);
  const int64_t begin = num_queries - 1;
  const Tensor cut = slice_in_dim(flat, -1, begin, begin + num_queries * (size - 1));
  return slice_in_dim(unflatten(cut, -1, {num_queries, size - 1}), -1, 0, num_keys);
}

Tensor first_of(const Tensor& positions) {
  return reshape(slice_in_dim(flatten(positions), 0, 0, 1), {});
}

}  // namespace

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
  const Tensor least = first_of(places.key_positions) - first_of(places.query_positions) -
                       static_cast<double>(num_queries - 1);
  const Tensor index = index_of_(iota({num_queries + num_keys - 1}, 0) + least);
  const auto of_pairs = [&](const Tensor& table) {
    return by_diagonals(move_axis(take(table, index), 0, -1), num_queries, num_keys);
  };
  if (!copies_DCN_) return of_pairs(bias_DN_);
  return repeat(of_pairs(copies_DCN_), num_rows_ / copies_DCN_.dim(1), 0);
}

}  // namespace axle
