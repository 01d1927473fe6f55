#include "layers/attention/biases/t5_bias.h"

#include <fmt/format.h>

#include <cmath>

#include "config/register.h"
#include "layers/mesh_axes.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/index.h"

namespace axle {
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
      buckets_.push_back(before[static_cast<size_t>(std::abs(d))] + side);
    else
      buckets_.push_back(0);
  }
}

DistanceTable T5Bias::table() const {
  const auto num_distances = static_cast<int64_t>(buckets_.size());
  const Tensor bucket = constant(HostTensor({num_distances}, std::span<const int32_t>(buckets_)));
  return {take(astype(weight_(), DType::kF32), bucket), [most = max_distance_](const Tensor& x) {
            return clamp(-most, x, most) + static_cast<double>(most);
          }};
}

Tensor T5Bias::forward(const TokenPlaces& places) { return table()(places); }

LogitBias::OfBlock T5Bias::unchecked_blocks(const TokenPlaces&, int64_t num_rows) {
  const Invocation::Frame call(*this);
  return [this, copies = table().with_copies_for(num_rows)](const TokenPlaces& places) {
    const Invocation::Frame of_block(*this);
    return copies(places);
  };
}

AXLE_REGISTER(T5Bias)

}  // namespace axle
