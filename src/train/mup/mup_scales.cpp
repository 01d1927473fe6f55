#include "train/mup/mup_scales.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "learn/matrix_split.h"

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

double sqrt_of_matrix(const ParamSpec& spec) {
  const MatrixDims dims = *matrix_dims(spec);
  return std::sqrt(static_cast<double>(spec.shape[static_cast<size_t>(dims.row)]) *
                   static_cast<double>(spec.shape[static_cast<size_t>(dims.column)]));
}

// The growths of one parameter.
struct Growth {
  double in = 1, out = 1;
  double variance = 1;     // of the initial weights
  double matrix_sqrt = 1;  // of sqrt(R C)
};

Growth growth_of(const ParamSpec& base, const ParamSpec& wide) {
  if (!matrix_dims(wide)) {  // a vector has outputs alone
    const auto size = [](const ParamSpec& spec) {
      return static_cast<double>(num_elements(spec.shape));
    };
    return {.out = size(wide) / size(base)};
  }
  Growth out{.in = size_of(wide.fan.in, wide) / size_of(wide.fan.in, base),
             .out = size_of(wide.fan.out, wide) / size_of(wide.fan.out, base),
             .matrix_sqrt = sqrt_of_matrix(wide) / sqrt_of_matrix(base)};
  out.variance = out.out == 1 ? 1 / (out.in * out.in) : 1 / out.in;
  return out;
}

double rate_factor(const Growth& growth, const UpdateSize& base, const UpdateSize& wide) {
  switch (wide.kind) {
    case UpdateKind::kElements:
      return 1 / growth.in;
    case UpdateKind::kGradient:
      return growth.out / growth.in;
    case UpdateKind::kParameter:
      return 1 / growth.in / std::sqrt(growth.variance);
    case UpdateKind::kSpectral:
      return growth.matrix_sqrt / growth.in / (wide.gain / base.gain);
  }
  return 1;
}

bool is_one(double factor) { return std::abs(factor - 1) <= 1e-9; }

}  // namespace

MuPScales mup_scales(const MuPModel& base, const MuPModel& wide, std::string_view where) {
  const auto check = [&](bool same, const std::string& path) {
    if (same) return;
    throw ConfigError(
        fmt::format("{}: expected a model with the same parameters in other sizes, got another {}",
                    where, path));
  };
  for (const auto& [path, spec] : base.specs) check(wide.specs.contains(path), path);
  MuPScales out;
  for (const auto& [path, spec] : wide.specs) {
    const auto found = base.specs.find(path);
    check(found != base.specs.end() && found->second.shape.size() == spec.shape.size(), path);
    const ParamSpec& narrow = found->second;
    const Growth growth = growth_of(narrow, spec);
    const auto size = wide.updates.find(path), size_before = base.updates.find(path);
    if (size != wide.updates.end() && size_before != base.updates.end()) {
      const double factor = rate_factor(growth, size_before->second, size->second);
      if (!is_one(factor)) out.learning_rate.emplace(path, factor);
    }
    if (!matrix_dims(spec)) continue;
    if (growth.in != 1) out.inputs.emplace(path, growth.in);
    const auto own = own_growth(narrow, spec);
    const double factor = own ? growth.variance / *own : growth.out == 1 ? 1 / growth.in : 1;
    if (!is_one(factor)) out.init_variance.emplace(path, factor);
  }
  return out;
}

}  // namespace axle
