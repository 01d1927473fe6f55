#include "learn/transforms/gradient_transforms.h"

#include <fmt/format.h>

#include "config/register.h"
#include "learn/matrix_split.h"
#include "learn/weight_decay.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reductions/reductions.h"

namespace axle {

Tensor clipped_by_block_rms(const Tensor& x, const ParamSpec& spec, double max_rms) {
  return x / maximum(block_rms(x, spec) / max_rms, 1);
}

UpdateOutputs ClipByBlockRms::update(const UpdateInputs& in) const {
  UpdateOutputs out;
  for (const auto& [path, gradient] : in.gradients) {
    out.updates.emplace(
        path, clipped_by_block_rms(astype(gradient, DType::kF32), params_.at(path), max_rms_));
  }
  return out;
}

AXLE_REGISTER(ClipByBlockRms)

ClipByGlobalNorm::ClipByGlobalNorm(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {}

UpdateOutputs ClipByGlobalNorm::update(const UpdateInputs& in) const {
  const Tensor scale = minimum(cfg_.max_norm / (in.norm() + cfg_.eps), 1);
  UpdateOutputs out;
  for (const auto& [path, gradient] : in.gradients) {
    out.updates.emplace(path, astype(gradient, DType::kF32) * scale);
  }
  return out;
}

AXLE_REGISTER(ClipByGlobalNorm)

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

Tensor trust_ratio(const Tensor& param, const Tensor& update, const ParamSpec& spec,
                   double coefficient, double eps) {
  const Tensor param_norm = block_norm(param, spec), update_norm = block_norm(update, spec);
  const Tensor known = (param_norm > 0) & (update_norm > 0);
  return select(known, coefficient * param_norm / (select(known, update_norm, 1) + eps), 1);
}

UpdateOutputs TrustRatio::update(const UpdateInputs& in) const {
  UpdateOutputs out;
  for (const auto& [path, gradient] : in.gradients) {
    const Tensor g = astype(gradient, DType::kF32);
    const Tensor param = astype(in.params.at(path), DType::kF32);
    out.updates.emplace(path,
                        g * trust_ratio(param, g, params_.at(path), cfg_.coefficient, cfg_.eps));
  }
  return out;
}

AXLE_REGISTER(TrustRatio)

namespace {

// Sums over some elements of a gradient and its parameter: scalars, or one number for each block.
struct Sums {
  Tensor squares, weight_squares, max_abs;
  double count = 0;
};

Sums sums_over(const Tensor& gradient, const Tensor& param, const std::vector<int64_t>& axes) {
  const Tensor g = astype(gradient, DType::kF32), w = astype(param, DType::kF32);
  Sums out{reduce_sum(square(g), axes), reduce_sum(square(w), axes), reduce_max(abs(g), axes), 1};
  for (const int64_t axis : axes) out.count *= static_cast<double>(g.dim(axis));
  return out;
}

Sums joined(const Sums& a, const Sums& b) {
  return {a.squares + b.squares, a.weight_squares + b.weight_squares, maximum(a.max_abs, b.max_abs),
          a.count + b.count};
}

// A parameter that is zero has the ratio 0, so that it cannot hide the others in a plot.
void report(const std::string& name, const Sums& sums, Tree<Tensor>& metrics) {
  const auto add = [&](std::string_view what, const Tensor& value) {
    metrics.emplace(join_path(name, what), value.rank() > 1 ? reshape(value, {-1}) : value);
  };
  const Tensor norm = sqrt(sums.squares), weight_norm = sqrt(sums.weight_squares);
  add("norm", norm);
  add("rms", sqrt(sums.squares / sums.count));
  add("max_abs", sums.max_abs);
  add("weight_ratio", select(weight_norm > 0, norm / weight_norm, 0));
}

}  // namespace

ReportGradients::ReportGradients(const Config& cfg, const Dims& dims, const Scope& scope)
    : name_(cfg.name), params_(dims.params) {
  for (const auto& [group, patterns] : cfg.groups) {
    const std::string where = field_path(scope, fmt::format("groups['{}']", group));
    const auto paths = matching_paths(dims.params, patterns, where);
    paths_[group].assign(paths.begin(), paths.end());
  }
}

UpdateOutputs ReportGradients::update(const UpdateInputs& in) const {
  UpdateOutputs out;
  for (const auto& [path, gradient] : in.gradients) {
    out.updates.emplace_hint(out.updates.end(), path, astype(gradient, DType::kF32));
    if (!paths_.empty()) continue;
    const Sums sums = sums_over(gradient, in.params.at(path), block_axes(params_.at(path)));
    report(join_path(name_, path), sums, out.metrics);
  }
  for (const auto& [group, paths] : paths_) {
    std::optional<Sums> sums;
    for (const std::string& path : paths) {
      const Tensor& gradient = in.gradients.at(path);
      const Sums own = sums_over(gradient, in.params.at(path), all_axes(gradient));
      sums = sums ? joined(*sums, own) : own;
    }
    if (sums) report(join_path(name_, group), *sums, out.metrics);
  }
  return out;
}

AXLE_REGISTER(ReportGradients)

}  // namespace axle
