#include "layers/attention/biases/distance_biases.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "config/register.h"
#include "layers/attention/masks/attention_mask.h"
#include "layers/mesh_axes.h"
#include "nn/invocation.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"

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

Tensor DistanceTable::operator()(const TokenPositions& positions) const {
  if (positions.are_consecutive) return at_consecutive(positions);
  const Tensor index = index_of_(positions.key_positions - positions.query_positions);
  return move_axis(take(bias_DN_, index), -1, -3);
}

// Takes each distance once: then the gradient of the table has a summand for each, not for each
// pair of positions.
Tensor DistanceTable::at_consecutive(const TokenPositions& positions) const {
  const int64_t num_queries = positions.query_positions.dim(-2),
                num_keys = positions.key_positions.dim(-1);
  const Tensor least = first_distance(positions) - static_cast<double>(num_queries - 1);
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

std::vector<float> ALiBi::slopes(int64_t num_heads) {
  const auto slope = [](double index, double count) {
    return static_cast<float>(std::exp2(-8 * (index + 1) / count));
  };
  const auto lower = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(num_heads)));
  std::vector<float> out;
  for (int64_t n = 0; n < lower; ++n)
    out.push_back(slope(static_cast<double>(n), static_cast<double>(lower)));
  for (int64_t n = 0; n < num_heads - lower; ++n)
    out.push_back(slope(static_cast<double>(2 * n), static_cast<double>(2 * lower)));
  return out;
}

Tensor ALiBi::forward(const TokenPositions& positions) {
  const Tensor distance =
      astype(abs(positions.query_positions - positions.key_positions), DType::kF32);
  const Tensor slope =
      constant(HostTensor({num_heads_, 1, 1}, std::span<const float>(slopes(num_heads_))));
  return -slope * expand_dims(distance, -3);
}

AXLE_REGISTER(ALiBi)

namespace {

// Returns the bucket of each distance from 0 to max_distance on one side.
std::vector<int32_t> side_buckets(int64_t count, int64_t max_distance) {
  const int64_t num_exact = count / 2;
  const auto exact = static_cast<double>(num_exact), last = static_cast<double>(max_distance);
  std::vector<int32_t> out;
  for (int64_t d = 0; d <= max_distance; ++d) {
    int64_t bucket = d;
    if (d >= num_exact) {
      const double part = std::log(static_cast<double>(d) / exact) / std::log(last / exact);
      // The summand keeps distances at the beginning of a bucket from rounding into the one before.
      const double beyond = part * static_cast<double>(count - num_exact) + 1e-9;
      bucket = std::min(count - 1, num_exact + static_cast<int64_t>(beyond));
    }
    out.push_back(static_cast<int32_t>(bucket));
  }
  return out;
}

}  // namespace

T5Bias::T5Bias(const Config& cfg, const Dims& dims, const Scope& scope)
    : LogitBias(scope),
      max_distance_(cfg.max_distance),
      weight_(param("weight", {.shape = {cfg.num_buckets, dims.num_heads},
                               .mesh_axes = {kReplicated, kShardAxes}})) {
  const int64_t count = cfg.bidirectional ? cfg.num_buckets / 2 : int64_t{cfg.num_buckets};
  if (cfg.bidirectional && (cfg.num_buckets % 2 != 0 || count < 2)) {
    fail("num_buckets",
         fmt::format("expected an even number of at least 4, got {}", int64_t{cfg.num_buckets}));
  }
  if (max_distance_ <= count / 2) {
    fail("max_distance", fmt::format("expected more than {}, the number of buckets of one distance "
                                     "on a side, got {}",
                                     count / 2, max_distance_));
  }
  const std::vector<int32_t> before = side_buckets(count, max_distance_);
  for (int64_t d = -max_distance_; d <= max_distance_; ++d) {
    const auto side = static_cast<int32_t>(d > 0 ? count : 0);
    if (d <= 0 || cfg.bidirectional)
      buckets_.push_back(before[std::abs(d)] + side);
    else
      buckets_.push_back(0);
  }
}

DistanceTable T5Bias::table() const {
  const auto num_distances = std::ssize(buckets_);
  const Tensor bucket = constant(HostTensor({num_distances}, std::span<const int32_t>(buckets_)));
  return {take(astype(weight_(), DType::kF32), bucket), [most = max_distance_](const Tensor& x) {
            return clamp(-most, x, most) + static_cast<double>(most);
          }};
}

Tensor T5Bias::forward(const TokenPositions& positions) { return table()(positions); }

LogitBias::OfBlock T5Bias::unchecked_blocks(const TokenPositions&, int64_t num_rows) {
  const Invocation::Frame call(*this);
  return [this, copies = table().with_copies_for(num_rows)](const TokenPositions& positions) {
    const Invocation::Frame of_block(*this);
    return copies(positions);
  };
}

AXLE_REGISTER(T5Bias)

}  // namespace axle
