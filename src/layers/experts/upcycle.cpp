#include "layers/experts/upcycle.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/mistakes.h"
#include "nn/draw_parameter.h"
#include "ops/dims.h"
#include "ops/movement/broadcast.h"
#include "transform/trace.h"

namespace axle {
namespace {

// Returns the dim that counts the experts.
std::optional<int64_t> expert_dim(const ParamSpec& spec) {
  const auto it = std::ranges::find(spec.mesh_axes, DimAxes("expert"));
  if (it == spec.mesh_axes.end()) return std::nullopt;
  return it - spec.mesh_axes.begin();
}

// Returns the type of the dense parameter that is copied for each expert.
std::optional<Type> type_of_one(const ParamSpec& spec) {
  const auto dim = expert_dim(spec);
  if (!dim) return std::nullopt;
  return Type{spec.type().dtype, without_dims(spec.shape, {*dim})};
}

HostTensor copies(const HostTensor& one, const ParamSpec& spec) {
  const auto fn = [&](const Values& x) {
    return Values{broadcast_in_dim(x[0], spec.shape,
                                   other_dims(std::ssize(spec.shape), {*expert_dim(spec)}))};
  };
  return eval(fn, {one})[0];
}

}  // namespace

Tree<HostTensor> upcycled(const Tree<HostTensor>& dense, const Tree<ParamSpec>& specs,
                          int64_t seed) {
  Mistakes mistakes;
  Tree<HostTensor> out;
  bool has_copies = false;
  for (const auto& [path, spec] : specs) {
    const auto it = dense.find(path);
    if (it == dense.end()) {
      out.emplace(path, draw_parameter(path, spec, seed));
    } else if (it->second.type() == spec.type()) {
      out.emplace(path, it->second);
    } else if (const auto one = type_of_one(spec); one && it->second.type() == *one) {
      out.emplace(path, copies(it->second, spec));
      has_copies = true;
    } else {
      mistakes.add(fmt::format("{}: expected {}{} to start from, got {}", path,
                               to_text(spec.type()), one ? " or " + to_text(*one) : "",
                               to_text(it->second.type())));
    }
  }
  for (const auto& [path, value] : dense) {
    if (specs.contains(path)) continue;
    mistakes.add(fmt::format("{}: expected a parameter of the model, got one that it lacks", path));
  }
  mistakes.throw_any();
  if (!has_copies) {
    throw ConfigError(
        "--upcycle: expected a model with experts in place of feed-forward layers of the dense "
        "one, "
        "got none; leave --upcycle out, or change the recipe");
  }
  return out;
}

}  // namespace axle
