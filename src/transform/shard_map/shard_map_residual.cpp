#include "transform/shard_map/shard_map_residual.h"

#include "ops/movement/shape.h"
#include "transform/trace.h"

namespace axle {

PartitionSpec spec_of_residual(const ShardMapAttributes& attributes) {
  DimAxes all;
  for (const MeshAxis& axis : attributes.axes) all.push_back(axis.name);
  return {{all}};
}

Values emit_forward_half(const Halves& halves, const Values& inputs,
                         const ShardMapAttributes& attributes) {
  const size_t num_results = halves.joint.num_results;
  ShardMapAttributes forward = attributes;
  forward.out_specs.insert(forward.out_specs.end(), halves.saved.size(),
                           spec_of_residual(attributes));
  const auto body = trace(
      [&](const Values& parts) {
        Values out = inline_region(*halves.forward, parts);
        for (size_t i = num_results; i < out.size(); ++i) {
          if (out[i].rank() == 0) out[i] = reshape(out[i], {1});
        }
        return out;
      },
      types_of(halves.forward->parameters()));
  return emit_shard_map(body, inputs, forward);
}

Values arguments_of_backward_half(const Halves& halves, const Values& parts) {
  Values out = parts;
  for (size_t i = 0; i < halves.saved.size(); ++i) {
    Tensor& residual = out[halves.needed.size() + i];
    residual = reshape(residual, halves.saved[i].shape());
  }
  return out;
}

}  // namespace axle
