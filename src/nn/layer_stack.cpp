#include "nn/layer_stack.h"

#include "ops/random/random.h"
#include "transform/control_flow/control_flow.h"

namespace axle {

Tree<ParamSpec> stacked(Tree<ParamSpec> specs, int64_t n) {
  for (auto& [path, spec] : specs) {
    spec.shape.insert(spec.shape.begin(), n);
    spec.mesh_axes.insert(spec.mesh_axes.begin(), kReplicated);
    spec.fan.batch.push_back(-std::ssize(spec.shape));
  }
  return specs;
}

Tree<StateSpec> stacked(Tree<StateSpec> specs, int64_t n) {
  for (auto& [path, spec] : specs) {
    spec.type.dims.insert(spec.type.dims.begin(), n);
    spec.mesh_axes.dims.insert(spec.mesh_axes.dims.begin(), kReplicated);
  }
  return specs;
}

std::optional<std::string> uncountable_text(const Tree<ParamSpec>& specs) {
  for (const auto& [path, spec] : specs) {
    if (!is_countable(spec.shape)) return path + " " + too_large_text(spec.type());
  }
  return std::nullopt;
}

Tree<Tensor> initialize_stacked(const Layer& layer, const random::Key& key, int64_t n) {
  FlatTree flat;
  const ScanResult drawn = scan(
      [&](const Values& carry, const Values&) {
        const std::vector<random::Key> keys =
            random::split_each(random::Key::wrap(carry[0], key.impl()));
        flat = {};
        for (const auto& [path, value] : layer.initialize(keys[1])) flat.add(path, value);
        return ScanResult{.carry = {keys[0].data()}, .ys = flat.values};
      },
      {key.data()}, {}, n);
  auto at = drawn.ys.begin();
  return flat.slices(at);
}

}  // namespace axle
