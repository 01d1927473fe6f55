#include "train/mup/mup_scales.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "learn/param_matrices.h"

namespace axle {
namespace {

// Returns the product of the sizes of these dims, those counted from the end.
double size_of(const std::vector<int64_t>& dims, const ParamSpec& spec) {
  const auto rank = static_cast<int64_t>(spec.shape.size());
  double out = 1;
  for (const int64_t dim : dims) {
    const int64_t i = dim < 0 ? dim + rank : dim;
    if (i >= 0 && i < rank) out *= static_cast<double>(spec.shape[static_cast<size_t>(i)]);
  }
  return out;
}

// Returns the factor by which the initialiser itself changes the variance of the weight; none if it
// is not known.
std::optional<double> own_growth(const ParamSpec& base, const ParamSpec& wide) {
  const auto* const now = wide.init->functor().get_if<VarianceScaling>();
  if (!now || now->fan == Fan::kNone) return std::nullopt;
  return fan_size({.shape = base.shape, .fan = base.fan}, now->fan) /
         fan_size({.shape = wide.shape, .fan = wide.fan}, now->fan);
}

}  // namespace

MuPScales mup_scales(const Tree<ParamSpec>& base, const Tree<ParamSpec>& wide,
                     std::string_view where) {
  const auto check = [&](bool same, const std::string& path) {
    if (same) return;
    throw ConfigError(
        fmt::format("{}: expected a model with the same parameters in other sizes, got another {}",
                    where, path));
  };
  for (const auto& [path, spec] : base) check(wide.contains(path), path);
  MuPScales out;
  for (const auto& [path, spec] : wide) {
    const auto narrow = base.find(path);
    check(narrow != base.end() && narrow->second.shape.size() == spec.shape.size(), path);
    // A vector has outputs alone.
    if (!matrix_dims(spec)) continue;
    const double in = size_of(spec.fan.in, spec) / size_of(spec.fan.in, narrow->second);
    const double outputs = size_of(spec.fan.out, spec) / size_of(spec.fan.out, narrow->second);
    if (in != 1) out.learning_rate.emplace(path, 1 / in);
    const double wanted = outputs == 1 ? 1 / (in * in) : 1 / in;
    const auto own = own_growth(narrow->second, spec);
    const double factor = own ? wanted / *own : outputs == 1 ? 1 / in : 1;
    if (std::abs(factor - 1) > 1e-9) out.init_variance.emplace(path, factor);
  }
  return out;
}

}  // namespace axle
