#include "ir/devices/manual_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text/text.h"
#include "ir/op_rules.h"

namespace axle {
namespace {

thread_local const ManualAxes* g_axes = nullptr;

}  // namespace

ManualAxes::ManualAxes(std::vector<MeshAxis> axes, Index index)
    : axes_(std::move(axes)), index_(std::move(index)), outer_(std::exchange(g_axes, this)) {}
ManualAxes::~ManualAxes() { g_axes = outer_; }

std::vector<MeshAxis> ManualAxes::all() {
  std::vector<MeshAxis> out;
  for (const ManualAxes* scope = g_axes; scope; scope = scope->outer_)
    out.insert(out.end(), scope->axes_.begin(), scope->axes_.end());
  return out;
}

std::vector<MeshAxis> ManualAxes::named(std::string_view op, const DimAxes& names,
                                        const Values& operands) {
  const Mesh mesh{all()};
  std::vector<MeshAxis> out;
  for (const std::string& name : names) {
    const DimAxes found = restrict(PartitionSpec{{DimAxes{name.c_str()}}}, mesh).dims[0];
    for (const std::string& axis : found) {
      const auto is_axis = [&](const MeshAxis& a) { return a.name == axis; };
      if (std::ranges::none_of(out, is_axis))
        out.push_back(*std::ranges::find_if(mesh.axes, is_axis));
    }
    const auto is_meant = [&](const MeshAxis& a) {
      return a.name == name || a.name.ends_with(":" + name);
    };
    if (!found.empty() || std::ranges::any_of(mesh.axes, is_meant)) continue;
    std::vector<std::string> known;
    for (const MeshAxis& a : mesh.axes) known.push_back(a.name);
    shape_error(
        op,
        fmt::format("expected an axis that an enclosing shard_map makes manual ({}), got '{}'; "
                    "call it inside shard_map over this axis",
                    known.empty() ? "there is none" : join(known, ", "), name),
        operands);
  }
  return out;
}

Tensor ManualAxes::index(const MeshAxis& axis) {
  for (const ManualAxes* scope = g_axes; scope; scope = scope->outer_) {
    if (std::ranges::count(scope->axes_, axis.name, &MeshAxis::name) > 0)
      return scope->index_(axis);
  }
  throw InternalError(fmt::format("axis '{}' is not manual", axis.name));
}

bool ManualAxes::contains(std::string_view axis) {
  for (const ManualAxes* scope = g_axes; scope; scope = scope->outer_) {
    if (std::ranges::count(scope->axes_, axis, &MeshAxis::name) > 0) return true;
  }
  return false;
}

}  // namespace axle
