#include "learn/transforms/report_gradients.h"

#include <fmt/format.h>

#include "config/register.h"
#include "learn/param_matrices.h"
#include "learn/path_rules.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"
#include "ops/elementwise/rounding.h"
#include "ops/movement/shape.h"
#include "ops/reductions/reduce.h"

namespace axle {
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
