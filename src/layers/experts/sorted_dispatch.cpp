#include "layers/experts/sorted_dispatch.h"

#include <algorithm>

#include "config/register.h"
#include "layers/experts/sorted_tokens.h"
#include "layers/mesh_axes.h"
#include "ops/movement/shape.h"
#include "transform/shard_map/shard_map.h"

namespace axle {
namespace {

Tensor rows(const Tensor& t_BTX) { return flatten(t_BTX, 0, 1); }

}  // namespace

Dispatched SortedDispatch::run(const Tensor& x_BTD, const Routing& routing,
                               const Experts& experts) const {
  return {.y_BTD = on_devices(x_BTD, routing, experts)};
}

Tensor SortedDispatch::on_devices(const Tensor& x_BTD, const Routing& routing,
                                  const Experts& experts) const {
  Invocation& outer = Invocation::current();
  const Mesh& mesh = outer.options().mesh;
  const PartitionSpec tokens = restrict(kTokenAxes, x_BTD.shape(), mesh);
  const DimAxes expert_axes = restrict(PartitionSpec{{"expert"}}, mesh).dims[0];

  ShardMapOptions map{.mesh = mesh, .in_specs = {tokens, tokens, tokens}, .out_specs = {tokens}};
  for (const std::string& axis : expert_axes) map.axes.push_back(axis);
  for (const DimAxes& dim : tokens.dims) {
    for (const std::string& axis : dim) {
      if (std::ranges::count(map.axes, axis) == 0) map.axes.push_back(axis);
    }
  }
  Values arguments{x_BTD, routing.experts_BTK, routing.weights_BTK};
  for (const std::string& path : experts.parameters) {
    arguments.push_back(outer.parameter(path));
    map.in_specs.push_back({{expert_axes}});
  }
  const auto of_device = [&](const Values& v) {
    Tree<Tensor> parameters;
    for (size_t i = 0; i < experts.parameters.size(); ++i)
      parameters.emplace(experts.parameters[i], v[3 + i]);
    const Invocation inner(outer.path(), std::move(parameters), outer.nested_options());
    const Tensor y_ND =
        run_sorted_over(expert_axes, rows(v[0]), rows(v[1]), rows(v[2]), experts, num_experts_);
    return Values{reshape(y_ND, v[0].shape())};
  };
  if (map.axes.empty()) {
    const Tensor y_ND = run_sorted(rows(x_BTD), rows(routing.experts_BTK),
                                   rows(routing.weights_BTK), experts, num_experts_);
    return reshape(y_ND, x_BTD.shape());
  }
  return shard_map(of_device, arguments, map)[0];
}

AXLE_REGISTER(SortedDispatch)

}  // namespace axle
