#include "layers/attention/biases/shared_bias.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "config/register.h"
#include "layers/attention/biases/distance_table.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/movement/shape.h"

namespace axle {
namespace {

// The larger of T and S.
int64_t most_places(const TokenPlaces& places) {
  return std::max(places.query_positions.dim(-2), places.key_positions.dim(-1));
}

// Returns the bias of each distance from 1 - M to M - 1, [1, N, 2 M - 1].
Tensor by_distance(const Handle<LogitBias>& bias, const TokenPlaces& places) {
  const int64_t most = most_places(places);
  const Tensor of_one_query =
      bias({.query_positions = full({1, 1}, static_cast<double>(most - 1), DType::kI32),
            .key_positions = iota({1, 2 * most - 1}, 1),
            .are_consecutive = true});
  return reshape(of_one_query, {1, of_one_query.dim(-3), 2 * most - 1});
}

DistanceTable table_of(const Tensor& bias_1ND) {
  const int64_t of_zero = bias_1ND.dim(2) / 2;
  return {swap_axes(squeeze(bias_1ND, {0}), 0, 1),
          [of_zero](const Tensor& distance) { return distance + static_cast<double>(of_zero); }};
}

LogitBias::OfBlock blocks_of(const Layer& layer, const Tensor& bias_1ND, int64_t num_rows) {
  return [&layer, table = table_of(bias_1ND).with_copies_for(num_rows)](const TokenPlaces& places) {
    const Invocation::Frame of_block(layer);
    return table(places);
  };
}

// A whole bias has a dim of rows, too: a pipeline must not take heads for rows.
Tensor with_rows(const Tensor& bias) { return bias.rank() == 3 ? expand_dims(bias, 0) : bias; }

bool is_by_distance(const Tensor& published) { return published.rank() == 3; }

}  // namespace

bool SharedBias::shares_distances(const TokenPlaces& all) const {
  return all.in_order && inner_->dependence(all) == BiasDependence::kDistance;
}

BiasDependence SharedBias::own_dependence(const TokenPlaces& all) const {
  return shares_distances(all) ? BiasDependence::kPlaces : BiasDependence::kAll;
}

Tensor SharedBias::forward(const TokenPlaces& places) {
  const bool by_distances = shares_distances(places);
  const Tensor bias = by_distances ? by_distance(inner_, places) : with_rows(inner_(places));
  publish(name_, bias);
  return by_distances ? table_of(bias)(places) : bias;
}

LogitBias::OfBlock SharedBias::unchecked_blocks(const TokenPlaces& all, int64_t num_rows) {
  const Invocation::Frame call(*this);
  const Tensor bias_1ND = by_distance(inner_, all);
  publish(name_, bias_1ND);
  return blocks_of(*this, bias_1ND, num_rows);
}

Tensor BorrowedBias::of_owner(const TokenPlaces& places) const {
  Tensor out = published(name_);
  if (!is_by_distance(out)) return out;
  const int64_t expected = 2 * most_places(places) - 1;
  if (!places.in_order || out.dim(2) != expected) {
    throw ShapeError(
        fmt::format("{}: expected a bias '{}' of the same queries and keys, f32[1, N, {}] by "
                    "distance, got {}; a "
                    "layer with other positions needs a bias of its own",
                    where(), name_, expected, to_text(out.type())));
  }
  return out;
}

BiasDependence BorrowedBias::own_dependence(const TokenPlaces& all) const {
  return is_by_distance(of_owner(all)) ? BiasDependence::kPlaces : BiasDependence::kAll;
}

Tensor BorrowedBias::forward(const TokenPlaces& places) {
  const Tensor bias = of_owner(places);
  return is_by_distance(bias) ? table_of(bias)(places) : bias;
}

LogitBias::OfBlock BorrowedBias::unchecked_blocks(const TokenPlaces& all, int64_t num_rows) {
  const Invocation::Frame call(*this);
  return blocks_of(*this, of_owner(all), num_rows);
}

AXLE_REGISTER(SharedBias)
AXLE_REGISTER(BorrowedBias)

}  // namespace axle
