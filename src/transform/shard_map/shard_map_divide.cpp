#include "transform/shard_map/shard_map_divide.h"

#include "base/lists.h"
#include "transform/marks.h"
#include "transform/remat/divide.h"
#include "transform/shard_map/shard_map_op.h"
#include "transform/shard_map/shard_map_residual.h"
#include "transform/trace.h"

namespace axle {

std::optional<Divided> divide_shard_map(const OpNode& op, const std::vector<bool>& used,
                                        const ResidualPolicy& policy) {
  const auto a = op.attrs<ShardMapAttributes>();
  const Halves halves = divide_region(op.region(), used, policy);
  if (halves.saved.empty()) return std::nullopt;

  Divided out{.kept = halves.saved_as, .inputs = std::vector<bool>(op.inputs.size(), false)};
  ShardMapAttributes again = a;
  again.in_specs.clear();
  for (const size_t i : halves.needed) {
    out.inputs[i] = true;
    again.in_specs.push_back(a.in_specs[i]);
  }
  again.in_specs.insert(again.in_specs.end(), halves.saved.size(), spec_of_residual(a));
  again.out_specs = selected(a.out_specs, used);

  out.forward = [=](const Values& inputs) { return emit_forward_half(halves, inputs, a); };
  out.again = [=](const Values& inputs, const Values& kept) {
    const Values in = concatenate<Tensor>({inputs, kept});
    std::vector<Type> parts;
    for (size_t i = 0; i < in.size(); ++i)
      parts.push_back(part_type(in[i].type(), again.in_specs[i], a.mesh()));
    const auto body = trace(
        [&](const Values& given) {
          return inline_region(*halves.backward, arguments_of_backward_half(halves, given));
        },
        parts);
    return spread_results(emit_shard_map(body, in, again), used);
  };
  return out;
}

}  // namespace axle
