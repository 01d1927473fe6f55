#include "layers/attention/qkv/rope.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "base/error.h"
#include "config/register.h"
#include "ops/create.h"
#include "ops/movement/movement.h"

namespace axle {
namespace {

// Limits the size of the table of frequencies, which is a constant in the program.
constexpr int64_t kMaxHeadDim = 1 << 16;

}  // namespace

int64_t RoPE::rotated_dim(const Config& cfg, int64_t head_dim) const {
  if (head_dim > kMaxHeadDim)
    fail("head_dim", fmt::format("must be at most {}, got {}", kMaxHeadDim, head_dim));
  if (cfg.fraction == 1) {
    if (head_dim % 2 != 0) fail("head_dim", fmt::format("must be even, got {}", head_dim));
    return head_dim;
  }
  const double exact = cfg.fraction * static_cast<double>(head_dim);
  const int64_t dim = std::llround(exact);
  if (std::abs(exact - static_cast<double>(dim)) > 1e-6 || dim % 2 != 0 || dim == 0) {
    fail("fraction", fmt::format("expected an even number of elements of the {} of a head, got {} "
                                 "* {} = {}",
                                 head_dim, double{cfg.fraction}, head_dim, exact));
  }
  return dim;
}

RoPE::RoPE(const Config& cfg, const Dims& dims, const Scope& scope)
    : WrappedQKV(cfg.inner, dims, scope),
      pairs_(cfg.pairs),
      frequencies_(checked_frequencies(cfg.frequencies,
                                       {.theta = cfg.theta, .dim = rotated_dim(cfg, dims.head_dim)},
                                       config_path() + ".frequencies")),
      streams_(cfg.streams),
      rotate_values_(cfg.rotate_values) {
  if (!streams_) return;
  const auto& sections = streams_->sections;
  const int64_t sum = std::accumulate(sections.begin(), sections.end(), int64_t{0}),
                num_pairs = std::ssize(frequencies_.radians);
  if (sum != num_pairs) {
    fail("streams.sections",
         fmt::format("expected a sum of {}, the number of pairs, got {}", num_pairs, sum));
  }
}

// Returns [T, P] or [B, T, P].
Tensor RoPE::angles(const Tensor& x_BTD, const std::optional<Tensor>& positions_BT) const {
  const auto given = streams_ ? find_published(streams_->name) : std::nullopt;
  if (streams_ && !given && is_training()) {
    fail("streams", fmt::format("expected '{}' to be published in training, got nothing; set "
                                "input.position_streams, which publishes '{}', or no streams for a "
                                "model of text alone",
                                streams_->name, PositionStreams().name));
  }
  if (!given)
    return angles_of(positions_BT ? *positions_BT : iota({x_BTD.dim(1)}, 0), frequencies_);
  const auto num_streams = std::ssize(streams_->sections);
  const Type expected{DType::kI32, {num_streams, x_BTD.dim(0), x_BTD.dim(1)}};
  if (given->type() != expected) {
    throw ShapeError(fmt::format(
        "{}: expected '{}' to be {}, one stream for each of streams.sections, got {}; name as many "
        "in input.position_streams",
        config_path(), streams_->name, to_text(expected), to_text(given->type())));
  }
  const Tensor angles_SBTP = angles_of(*given, frequencies_);
  Values parts;
  int64_t first = 0;
  for (const int64_t size : streams_->sections) {
    const Tensor own_BTP = index_in_dim(angles_SBTP, 0, std::ssize(parts));
    parts.push_back(slice_in_dim(own_BTP, -1, first, first + size));
    first += size;
  }
  return concatenate(parts, -1);
}

QKVTensors RoPE::forward(const Tensor& x_BTD, const std::optional<Tensor>& positions_BT) {
  QKVTensors x = inner_(x_BTD, positions_BT);
  const auto rotation = [&](const Tensor& angles) {
    return Rotation(angles, frequencies_.scale, pairs_, x_BTD.dtype());
  };
  const Rotation of_queries = rotation(angles(x_BTD, positions_BT));
  x.q_BTNH = of_queries(x.q_BTNH);
  if (!static_cast<bool>(x.k_BSKH)) return x;  // "!" may be that of predicates
  const Rotation of_keys =
      has_source() ? rotation(angles_of(iota({x.k_BSKH.dim(1)}, 0), frequencies_)) : of_queries;
  x.k_BSKH = of_keys(x.k_BSKH);
  if (rotate_values_) x.v_BSKH = of_keys(x.v_BSKH);
  return x;
}

AXLE_REGISTER(PositionStreams)
AXLE_REGISTER(RoPE)

}  // namespace axle
