#include "transform/shard_map/shard_map_vjp.h"

#include "base/lists.h"
#include "ir/devices/sharding.h"
#include "ops/collectives/collectives.h"
#include "ops/elementwise/arithmetic.h"
#include "transform/linearize.h"
#include "transform/remat/partition.h"
#include "transform/shard_map/shard_map_op.h"
#include "transform/shard_map/shard_map_residual.h"
#include "transform/trace.h"

namespace axle {
namespace {

// The axes are manual while the function is traced.
std::shared_ptr<const Region> trace_manual(const ShardMapAttributes& a, const TensorFunction& fn,
                                           const std::vector<Type>& types) {
  const ManualAxes scope(a.axes, [](const MeshAxis&) { return Tensor(); });
  return trace(fn, types);
}

}  // namespace

Linearized linearize_shard_map(const OpNode& op, const Values& inputs,
                               const std::vector<bool>& active) {
  const auto a = op.attrs<ShardMapAttributes>();
  const Halves halves =
      split(make_joint(op.region(), active, std::vector<bool>(op.outputs.size(), true)), nullptr);
  const size_t num_results = halves.joint.num_results;

  const Values computed = emit_forward_half(halves, inputs, a);
  auto pullback = [=, result_types = op.outputs](const Values& cotangents) {
    ShardMapAttributes backward = a;
    backward.in_specs.clear();
    backward.out_specs.clear();
    Values in;
    for (const size_t i : halves.needed) {
      in.push_back(inputs[i]);
      backward.in_specs.push_back(a.in_specs[i]);
    }
    for (size_t i = num_results; i < computed.size(); ++i) {
      in.push_back(computed[i]);
      backward.in_specs.push_back(spec_of_residual(a));
    }
    for (const size_t i : halves.joint.cotangent_of) {
      const int64_t copies = Mesh{a.axes_of_copies(a.out_specs[i])}.num_devices();
      const Tensor g = instantiate(cotangents[i], result_types[i]);
      in.push_back(copies == 1 ? g : g / copies);
      backward.in_specs.push_back(a.out_specs[i]);
    }
    std::vector<Type> parts;
    for (size_t i = 0; i < in.size(); ++i)
      parts.push_back(part_type(in[i].type(), backward.in_specs[i], a.mesh()));
    for (size_t i = 0; i < halves.joint.input_cotangent.size(); ++i) {
      if (halves.joint.input_cotangent[i] >= 0) backward.out_specs.push_back(a.in_specs[i]);
    }
    const auto body = trace_manual(
        a,
        [&](const Values& given) {
          Values out;
          size_t next = 0;
          const Values own = arguments_of_backward_half(halves, given);
          for (const Tensor& g : inline_region(*halves.backward, own)) {
            out.push_back(psum(g, names_of(a.axes_of_copies(backward.out_specs[next]))));
            ++next;
          }
          return out;
        },
        parts);
    return spread_input_cotangents(halves.joint, emit_shard_map(body, std::move(in), backward));
  };
  return {concatenate<Tensor>({std::span(computed).first(num_results)}), std::move(pullback)};
}

}  // namespace axle
