#include "layers/attention/masks/attention_mask.h"

#include "ops/elementwise/compare.h"

namespace axle {

Tensor TokenPlaces::same_segment() const {
  const Tensor& ids = *query_segments;
  return equal(select(equal(ids, 0), -1, ids), *key_segments);
}

TokenPlaces TokenPlaces::read(InputReader& inputs, const std::string& prefix) {
  return {.query_positions = inputs.required(prefix + "/query_positions"),
          .key_positions = inputs.required(prefix + "/key_positions"),
          .query_segments = inputs.optional(prefix + "/query_segments"),
          .key_segments = inputs.optional(prefix + "/key_segments"),
          .prefix_lengths = inputs.optional(prefix + "/prefix_lengths")};
}

}  // namespace axle
