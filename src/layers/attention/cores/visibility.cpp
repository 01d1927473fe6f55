#include "layers/attention/cores/visibility.h"

#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/movement/shape.h"
#include "ops/reductions/reduce.h"

namespace axle {

Visibility Visibility::read(InputReader& inputs, const std::string& prefix) {
  return {.places = TokenPlaces::read(inputs, prefix + "/places"),
          .given_visible = inputs.optional(prefix + "/visible"),
          .given_bias = inputs.optional(prefix + "/bias")};
}

Visibility Visibility::of(int64_t num_queries, const KeyValues& keys, const MixerContext& context,
                          bool decoding) {
  const auto column = [](const Tensor& x_BT) { return expand_dims(x_BT, -1); };
  const auto row = [](const Tensor& x_BS) { return expand_dims(x_BS, -2); };
  Visibility out;
  TokenPlaces& at = out.places;
  at.in_order = !decoding && !keys.positions_BS;
  at.query_positions = decoding ? column(*context.positions) : iota({num_queries, 1}, 0);
  at.key_positions = keys.positions_BS ? row(*keys.positions_BS) : iota({1, keys.k_BSKH.dim(1)}, 1);
  if (context.segment_ids) at.query_segments = column(*context.segment_ids);
  if (keys.segments_BS) at.key_segments = row(*keys.segments_BS);
  if (const auto& prefix = context.prefix_lengths)
    at.prefix_lengths = column(prefix->rank() == 1 ? column(*prefix) : *prefix);
  return out;
}

Tensor Visibility::visible() const {
  Tensor all;
  const auto require = [&](const Tensor& sees) { all = all ? all & sees : sees; };
  // No causal query reaches an empty place.
  if (has_empty_places && !(mask && mask->is_causal()))
    require(places.key_positions <= reduce_max(places.query_positions, {-2}, true));
  if (places.query_segments && places.key_segments) {
    require(places.same_segment());
  } else if (const auto& ids =
                 places.query_segments ? places.query_segments : places.key_segments) {
    require(not_equal(*ids, 0));
  }
  if (mask) require((*mask)(places));
  if (given_visible) require(*given_visible);
  return all;
}

Tensor Visibility::sees_some(int64_t num_keys) const {
  const bool has_segments = places.query_segments || places.key_segments;
  const int64_t num_queries = places.query_positions.dim(-2);
  if (places.in_order && !has_segments && !given_visible && num_queries <= num_keys &&
      (!mask || mask->sees_itself()))
    return {};
  const Tensor seen = visible();
  return seen ? reduce_or(seen, {-1}, true) : seen;
}

Tensor Visibility::added() const {
  if (!bias) return given_bias.value_or(Tensor());
  const Tensor own = (*bias)(places);
  return given_bias ? own + *given_bias : own;
}

}  // namespace axle
