#include "plan/unmet_layouts.h"

#include <fmt/format.h>

#include <set>

#include "ops/annotate.h"

namespace axle {
namespace {

void collect(const Region& graph, const Mesh& mesh, std::set<std::string>& lines) {
  for (const OpNode* op : graph.ops()) {
    for (const auto& region : op->regions) collect(*region, mesh, lines);
    const PartitionSpec* spec = constraint_of(*op);
    if (!spec) continue;
    const Shape& shape = op->outputs[0].dims;
    const PartitionSpec wanted = restrict(*spec, mesh), given = restrict(*spec, shape, mesh);
    for (size_t d = 0; d < wanted.dims.size(); ++d) {
      if (wanted.dims[d] == given.dims[d]) continue;
      const int64_t over = num_parts(wanted.dims[d], mesh), into = num_parts(given.dims[d], mesh);
      lines.insert(
          fmt::format("{}: expected dim {} of {} to divide over {} = {} devices, got {}; it is "
                      "divided into {}, so groups of {} devices do the same work{}",
                      op->scope && !op->scope->empty() ? *op->scope : "program", d, to_text(shape),
                      to_text(wanted.dims[d]), over, shape[d], into, over / into,
                      wanted.dims[d].size() == 1 && into > 1
                          ? fmt::format("; a mesh with {}={} divides it", wanted.dims[d][0], into)
                          : ""));
    }
  }
}

}  // namespace

std::vector<std::string> unmet_layouts(const Region& graph, const Mesh& mesh) {
  std::set<std::string> lines;
  collect(graph, mesh, lines);
  return {lines.begin(), lines.end()};
}

}  // namespace axle
