#include "layers/attention/biases/logit_bias.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "config/register.h"
#include "layers/attention/biases/distance_biases.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"

namespace axle {

void LogitBias::check_result(const Tensor& bias, const TokenPositions& positions) const {
  Type expected{DType::kF32,
                {given_dims() ? int64_t{given_dims()->num_heads} : kAnySize,
                 positions.query_positions.dim(-2), positions.key_positions.dim(-1)}};
  if (bias && bias.rank() == 4) expected.dims.insert(expected.dims.begin(), kAnySize);
  expect_result(bias, expected);
}

LogitBias::OfBlock LogitBias::of_blocks(const TokenPositions& all, int64_t num_rows) {
  return [this, blocks = unchecked_blocks(all, num_rows)](const TokenPositions& positions) {
    Tensor out = blocks(positions);
    check_result(out, positions);
    return out;
  };
}

LogitBias::OfBlock LogitBias::unchecked_blocks(const TokenPositions&, int64_t) {
  return [this](const TokenPositions& positions) { return (*this)(positions); };
}

AXLE_REGISTER(LogitBias::Dims)

template class LayerRole<LogitBias, LogitBias::Signature>;

namespace {

// Calls each of the biases.
template <class Biases>
Tensor sum_of(const Biases& biases, const TokenPositions& positions) {
  Tensor sum;
  for (const auto& bias : biases) {
    const Tensor own = bias(positions);
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

BiasDependence SumOfBiases::own_dependence(const TokenPositions& all) const {
  auto out = BiasDependence::kDistance;
  for (const auto& bias : biases_) out = std::min(out, bias->dependence(all));
  return out;
}

LogitBias::OfBlock SumOfBiases::unchecked_blocks(const TokenPositions& all, int64_t num_rows) {
  std::vector<OfBlock> parts;
  for (const auto& bias : biases_) parts.push_back(bias->of_blocks(all, num_rows));
  return [parts](const TokenPositions& positions) { return sum_of(parts, positions); };
}

Tensor SumOfBiases::forward(const TokenPositions& positions) { return sum_of(biases_, positions); }

AXLE_REGISTER(SumOfBiases)

namespace {

// The larger of T and S.
int64_t most_positions(const TokenPositions& positions) {
  return std::max(positions.query_positions.dim(-2), positions.key_positions.dim(-1));
}

// Returns the bias of each distance from 1 - M to M - 1, [1, N, 2 M - 1].
Tensor by_distance(const Handle<LogitBias>& bias, const TokenPositions& positions) {
  const int64_t most = most_positions(positions);
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
  return [&layer,
          table = table_of(bias_1ND).with_copies_for(num_rows)](const TokenPositions& positions) {
    const Invocation::Frame of_block(layer);
    return table(positions);
  };
}

// A whole bias has a dim of rows, too: a pipeline must not take heads for rows.
Tensor with_rows(const Tensor& bias) { return bias.rank() == 3 ? expand_dims(bias, 0) : bias; }

bool is_by_distance(const Tensor& published) { return published.rank() == 3; }

}  // namespace

bool SharedBias::shares_distances(const TokenPositions& all) const {
  return all.in_order && inner_->dependence(all) == BiasDependence::kDistance;
}

BiasDependence SharedBias::own_dependence(const TokenPositions& all) const {
  return shares_distances(all) ? BiasDependence::kPositions : BiasDependence::kAll;
}

Tensor SharedBias::forward(const TokenPositions& positions) {
  const bool by_distances = shares_distances(positions);
  const Tensor bias = by_distances ? by_distance(inner_, positions) : with_rows(inner_(positions));
  publish(name_, bias);
  return by_distances ? table_of(bias)(positions) : bias;
}

LogitBias::OfBlock SharedBias::unchecked_blocks(const TokenPositions& all, int64_t num_rows) {
  const Invocation::Frame call(*this);
  const Tensor bias_1ND = by_distance(inner_, all);
  publish(name_, bias_1ND);
  return blocks_of(*this, bias_1ND, num_rows);
}

Tensor BorrowedBias::of_owner(const TokenPositions& positions) const {
  Tensor out = published(name_);
  if (!is_by_distance(out)) return out;
  const int64_t expected = 2 * most_positions(positions) - 1;
  if (!positions.in_order || out.dim(2) != expected) {
    throw ShapeError(
        fmt::format("{}: expected a bias '{}' of the same queries and keys, f32[1, N, {}] by "
                    "distance, got {}; a "
                    "layer with other positions needs a bias of its own",
                    where(), name_, expected, to_text(out.type())));
  }
  return out;
}

BiasDependence BorrowedBias::own_dependence(const TokenPositions& all) const {
  return is_by_distance(of_owner(all)) ? BiasDependence::kPositions : BiasDependence::kAll;
}

Tensor BorrowedBias::forward(const TokenPositions& positions) {
  const Tensor bias = of_owner(positions);
  return is_by_distance(bias) ? table_of(bias)(positions) : bias;
}

LogitBias::OfBlock BorrowedBias::unchecked_blocks(const TokenPositions& all, int64_t num_rows) {
  const Invocation::Frame call(*this);
  return blocks_of(*this, of_owner(all), num_rows);
}

AXLE_REGISTER(SharedBias)
AXLE_REGISTER(BorrowedBias)

}  // namespace axle
