#include "layers/attention/cores/visibility.h"

#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/reductions/reduce.h"

namespace axle {

Visibility Visibility::read(InputReader& inputs, const std::string& prefix) {
  return {.places = TokenPlaces::read(inputs, prefix + "/places"),
          .given_visible = inputs.optional(prefix + "/visible"),
          .given_bias = inputs.optional(prefix + "/bias")};
}

Tensor Visibility::visible() const {
  Tensor all;
  const auto require = [&](const Tensor& sees) { all = all ? all & sees : sees; };
  // No causal query reaches an empty place.
  if (has_empty_places && !(mask && mask->is_causal()))
    require(places.key_positions <= reduce_max(places.query_positions, {-2}, true));
  if (places.query_segments && places.key_segments)
    require(equal(*places.query_segments, *places.key_segments));
  if (mask) require((*mask)(places));
  if (given_visible) require(*given_visible);
  return all;
}

Tensor Visibility::added() const {
  if (!bias) return given_bias.value_or(Tensor());
  const Tensor own = (*bias)(places);
  return given_bias ? own + *given_bias : own;
}

}  // namespace axle
