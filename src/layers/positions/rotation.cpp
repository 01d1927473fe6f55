#include "layers/positions/rotation.h"

#include <algorithm>
#include <optional>
#include <span>

#include "nn/invocation.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reductions/reductions.h"
#include "transform/control_flow/control_flow.h"

namespace axle {

namespace {

Tensor as_constant(const std::vector<double>& radians) {
  const std::vector<float> f(radians.begin(), radians.end());
  return constant(HostTensor({std::ssize(f)}, std::span<const float>(f)));
}

// Returns the segment ids of the current call, if the positions are those of its tokens.
std::optional<Tensor> segments_of(const Tensor& positions) {
  if (!Invocation::in_call()) return std::nullopt;
  const std::optional<Tensor>& ids = Invocation::current().segment_ids();
  const Shape& all = positions.shape();
  if (!ids || all.size() < 2 || !std::ranges::equal(ids->shape(), std::span(all).last(2)))
    return std::nullopt;
  return broadcast_to(*ids, all);
}

// Returns for each token the largest position of its segment up to it. Padding, wherever it is,
// changes nothing.
Tensor largest_so_far(const Tensor& positions, const Tensor& segments) {
  const auto combine = [](const Values& earlier, const Values& later) {
    const Tensor goes_on = equal(earlier[0], later[0]), is_padding = equal(later[0], 0);
    const Tensor joined = select(goes_on, maximum(earlier[1], later[1]), later[1]);
    return Values{select(is_padding, earlier[0], later[0]), select(is_padding, earlier[1], joined)};
  };
  return associative_scan(combine, {segments, positions}, -1)[1];
}

// Returns the largest position of the text that each token is in, [.., T]: its segment. Without
// segments, that of the row, [.., 1].
Tensor largest_of_text(const Tensor& positions) {
  const std::optional<Tensor> segments = segments_of(positions);
  if (!segments) return reduce_max(positions, {-1}, true);
  const auto rotated = [](const Tensor& t) { return reverse(t, {-1}); };
  return maximum(largest_so_far(positions, *segments),
                 rotated(largest_so_far(rotated(positions), rotated(*segments))));
}

}  // namespace

Tensor angles_of(const Tensor& positions, const Frequencies& frequencies) {
  Tensor radians = as_constant(frequencies.radians);
  if (!frequencies.long_radians.empty()) {
    const Tensor is_long = largest_of_text(positions) >= frequencies.long_from;
    radians = select(expand_dims(is_long, -1), as_constant(frequencies.long_radians), radians);
  }
  if (const auto& growth = frequencies.growth) {
    const double per_position = growth->factor / static_cast<double>(growth->original_len);
    const Tensor beyond = maximum(largest_of_text(positions) + (1 - growth->original_len), 0),
                 grown = astype(beyond, DType::kF32) * per_position + 1;  // 1 up to the length
    radians = radians * pow(expand_dims(grown, -1), as_constant(growth->exponents));
  }
  return expand_dims(astype(positions, DType::kF32), -1) * radians;
}

Rotation::Rotation(const Tensor& angles, double scale, PairLayout layout, DType dtype)
    : dim_(2 * angles.dim(-1)), layout_(layout) {
  Tensor cosine = cos(angles), sine = sin(angles);
  if (scale != 1) {
    cosine = cosine * scale;
    sine = sine * scale;
  }
  // Without the barrier the compiler recomputes sine and cosine for every head.
  const Values table = optimization_barrier({astype(cosine, dtype), astype(sine, dtype)});
  const bool halves = layout == PairLayout::kHalves;
  const auto aligned = [&](const Tensor& t) {
    return expand_dims(expand_dims(t, halves ? -2 : -1), -3);
  };
  const Tensor sign =
      constant(halves ? HostTensor({2, 1}, {-1.0f, 1.0f}) : HostTensor({2}, {-1.0f, 1.0f}));
  cosine_ = aligned(table[0]);
  signed_sine_ = aligned(table[1]) * astype(sign, dtype);
}

// (a, b) -> (a cos - b sin, b cos + a sin).
Tensor Rotation::operator()(const Tensor& x_BTNH) const {
  const int64_t head_dim = x_BTNH.dim(-1);
  const bool partial = dim_ != head_dim;
  const Tensor x = partial ? slice_in_dim(x_BTNH, -1, 0, dim_) : x_BTNH;
  const bool halves = layout_ == PairLayout::kHalves;
  const Tensor pairs = unflatten(x, -1, halves ? Shape{2, -1} : Shape{-1, 2});
  const Tensor swapped = reverse(pairs, {halves ? -2 : -1});
  const Tensor rotated = reshape(pairs * cosine_ + swapped * signed_sine_, x.shape());
  return partial ? concatenate({rotated, slice_in_dim(x_BTNH, -1, dim_, head_dim)}, -1) : rotated;
}

}  // namespace axle
