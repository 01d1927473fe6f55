#include "layers/mesh_axes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/text.h"
#include "ops/annotate.h"

namespace axle {
namespace {

void check_names(const Mesh& mesh, std::string_view where, const PartitionSpec& spec) {
  for (const DimAxes& dim : spec.dims) {
    for (const std::string& axis : dim) {
      const bool is_known = std::ranges::count(kMeshAxes, axis) > 0 || mesh.has(axis);
      if (is_known || axis == kUnconstrained[0]) continue;
      throw ConfigError(fmt::format("{}: expected mesh axes in {}, got '{}'{}", where,
                                    to_text(spec), axis, suggest(axis, kMeshAxes)));
    }
  }
}

}  // namespace

void check_mesh(const Mesh& mesh, const std::vector<ProgramValue>& inputs) {
  std::vector<std::string> used;
  for (const ProgramValue& value : inputs) {
    check_names(mesh, value.name, value.sharding);
    for (const DimAxes& dim : restrict(value.sharding, mesh).dims)
      used.insert(used.end(), dim.begin(), dim.end());
  }
  for (const MeshAxis& axis : mesh.axes) {
    const size_t colon = axis.name.find(':');
    const std::string role = colon == axis.name.npos ? "" : axis.name.substr(colon + 1);
    if (!role.empty() && std::ranges::count(kMeshAxes, role) == 0) {
      throw ConfigError(fmt::format("mesh.{}: expected the role of a known axis ({}), got '{}'{}",
                                    axis.name, join(kMeshAxes, ", "), role,
                                    suggest(role, kMeshAxes)));
    }
    if (axis.size == 1 || std::ranges::count(used, axis.name) > 0) continue;
    const bool known = std::ranges::count(kMeshAxes, axis.name) > 0 || !role.empty();
    throw ConfigError(
        fmt::format("mesh.{}: expected an axis that shards parameters or batches, got '{}', whose "
                    "{} devices would all do the same work{}",
                    axis.name, axis.name, axis.size,
                    known ? ""
                          : suggest(axis.name, kMeshAxes) +
                                fmt::format("; give a custom axis a role, as in '{}:data={}'",
                                            axis.name, axis.size)));
  }
}

void check_constraints(const Mesh& mesh, const Region& graph) {
  for (const OpNode* op : graph.ops()) {
    if (const PartitionSpec* spec = constraint_of(*op)) {
      const std::string where = op->scope && !op->scope->empty() ? *op->scope : "program";
      check_names(mesh, where, *spec);
      if (const auto axis = axis_named_twice(*spec)) {
        throw ConfigError(fmt::format("{}: expected each mesh axis once, got '{}' twice in {}",
                                      where, *axis, to_text(*spec)));
      }
    }
    for (const auto& region : op->regions) check_constraints(mesh, *region);
  }
}

}  // namespace axle
