#include "learn/transforms/scale_by_path.h"

#include "config/register.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"

namespace axle {
namespace {

Tree<ParamSpec> all_params(const StatefulUpdate::Dims& dims) {
  Tree<ParamSpec> out = dims.frozen;
  out.insert(dims.params.begin(), dims.params.end());
  return out;
}

}  // namespace

ScaleByPath::ScaleByPath(const Config& cfg, const Dims& dims, const Scope& scope)
    : scales_(numbers_by_path(all_params(dims), cfg.scales, field_path(scope, "scales"))) {}

UpdateOutputs ScaleByPath::update(const UpdateInputs& in) const {
  UpdateOutputs out;
  for (const auto& [path, gradient] : in.gradients) {
    const Tensor g = astype(gradient, DType::kF32);
    const auto scale = scales_.find(path);
    out.updates.emplace(path, scale == scales_.end() ? g : g * scale->second);
  }
  return out;
}

AXLE_REGISTER(ScaleByPath)

}  // namespace axle
