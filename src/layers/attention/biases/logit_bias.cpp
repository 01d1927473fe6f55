#include "layers/attention/biases/logit_bias.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "config/register.h"
#include "layers/attention/biases/distance_biases.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/movement/shape.h"

namespace axle {

void LogitBias::check_result(const Tensor& bias, const TokenPlaces& places) const {
  Type expected{DType::kF32,
                {given_dims() ? int64_t{given_dims()->num_heads} : kAnySize,
                 places.query_positions.dim(-2), places.key_positions.dim(-1)}};
  if (bias && bias.rank() == 4) expected.dims.insert(expected.dims.begin(), kAnySize);
  expect_result(bias, expected);
}

LogitBias::OfBlock LogitBias::of_blocks(const TokenPlaces& all, int64_t num_rows) {
  return [this, blocks = unchecked_blocks(all, num_rows)](const TokenPlaces& places) {
    Tensor out = blocks(places);
    check_result(out, places);
    return out;
  };
}

LogitBias::OfBlock LogitBias::unchecked_blocks(const TokenPlaces&, int64_t) {
  return [this](const TokenPlaces& places) { return (*this)(places); };
}

AXLE_REGISTER(LogitBias::Dims)

template class LayerRole<LogitBias, LogitBias::Signature>;

namespace {

// Calls each of the biases.
template <class Biases>
Tensor sum_of(const Biases& biases, const TokenPlaces& places) {
  Tensor sum;
  for (const auto& bias : biases) {
    const Tensor own = bias(places);
    sum = sum ? sum + own : own;
  }
  return sum;
}

}  // namespace

SumOfBiases::SumOfBiases(const Config& cfg, const Dims& dims, const Scope& scope)
    : LogitBias(scope) {
  if (cfg.biases.empty()) {
    fail("biases",
         "expected at least one bias, got none; leave the bias of attention out if nothing is "
         "added");
  }
  for (size_t i = 0; i < cfg.biases.size(); ++i)
    biases_.push_back(
        child(fmt::format("bias{}", i), cfg.biases[i], dims, fmt::format("biases[{}]", i)));
}

BiasDependence SumOfBiases::own_dependence(const TokenPlaces& all) const {
  auto out = BiasDependence::kDistance;
  for (const auto& bias : biases_) out = std::min(out, bias->dependence(all));
  return out;
}

LogitBias::OfBlock SumOfBiases::unchecked_blocks(const TokenPlaces& all, int64_t num_rows) {
  std::vector<OfBlock> parts;
  for (const auto& bias : biases_) parts.push_back(bias->of_blocks(all, num_rows));
  return [parts](const TokenPlaces& places) { return sum_of(parts, places); };
}

Tensor SumOfBiases::forward(const TokenPlaces& places) { return sum_of(biases_, places); }

AXLE_REGISTER(SumOfBiases)

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
