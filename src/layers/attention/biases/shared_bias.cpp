#include "layers/attention/biases/shared_bias.h"

#include <algorithm>

#include "config/register.h"
#include "layers/attention/biases/distance_table.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/movement/shape.h"

namespace axle {
namespace {

// Returns the bias of each distance from 1 - M to M - 1, [N, 2 M - 1].
Tensor by_distance(const Handle<LogitBias>& bias, const TokenPlaces& places) {
  const int64_t most = std::max(places.query_positions.dim(-2), places.key_positions.dim(-1));
  return squeeze(bias({.query_positions = full({1, 1}, static_cast<double>(most - 1), DType::kI32),
                       .key_positions = iota({1, 2 * most - 1}, 1),
                       .are_consecutive = true}),
                 {1});
}

// The number of the distance of each query and key in by_distance().
Tensor numbers(const TokenPlaces& places, const Tensor& bias_ND) {
  const int64_t of_zero = bias_ND.dim(1) / 2;
  return places.key_positions - places.query_positions + static_cast<double>(of_zero);
}

Tensor of_distances(const Tensor& bias_ND) { return swap_axes(bias_ND, 0, 1); }

Tensor at_places(const Tensor& bias_ND, const TokenPlaces& places) {
  return DistanceTable(of_distances(bias_ND))(numbers(places, bias_ND));
}

LogitBias::OfBlock at_blocks(const Layer& layer, const Tensor& bias_ND, int64_t num_rows) {
  return [=, &layer, table = DistanceTable::of_blocks(of_distances(bias_ND), num_rows)](
             const TokenPlaces& places) {
    const Invocation::Frame of_block(layer);
    return table(numbers(places, bias_ND));
  };
}

bool is_by_distance(const Tensor& published) { return published.rank() == 2; }

}  // namespace

BiasDependence SharedBias::own_dependence(const TokenPlaces& all) const {
  const bool is_table = all.in_order && inner_->dependence(all) == BiasDependence::kDistance;
  return is_table ? BiasDependence::kPlaces : BiasDependence::kAll;
}

Tensor SharedBias::forward(const TokenPlaces& places) {
  const bool is_table = own_dependence(places) == BiasDependence::kPlaces;
  const Tensor bias = is_table ? by_distance(inner_, places) : inner_(places);
  publish(name_, bias);
  return is_table ? at_places(bias, places) : bias;
}

LogitBias::OfBlock SharedBias::of_blocks(const TokenPlaces& all, int64_t num_rows) {
  const Invocation::Frame call(*this);
  const Tensor bias_ND = by_distance(inner_, all);
  publish(name_, bias_ND);
  return at_blocks(*this, bias_ND, num_rows);
}

BiasDependence BorrowedBias::own_dependence(const TokenPlaces&) const {
  return is_by_distance(published(name_)) ? BiasDependence::kPlaces : BiasDependence::kAll;
}

Tensor BorrowedBias::forward(const TokenPlaces& places) {
  const Tensor bias = published(name_);
  return is_by_distance(bias) ? at_places(bias, places) : bias;
}

LogitBias::OfBlock BorrowedBias::of_blocks(const TokenPlaces&, int64_t num_rows) {
  const Invocation::Frame call(*this);
  return at_blocks(*this, published(name_), num_rows);
}

AXLE_REGISTER(SharedBias)
AXLE_REGISTER(BorrowedBias)

}  // namespace axle
