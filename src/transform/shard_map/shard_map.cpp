#include "transform/shard_map/shard_map.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "ir/devices/sharding.h"
#include "ops/create.h"
#include "transform/shard_map/shard_map_op.h"

namespace axle {
namespace {

// Returns the axes of the mesh that the options make manual.
std::vector<MeshAxis> manual_axes(const ShardMapOptions& options) {
  std::vector<MeshAxis> out;
  for (const MeshAxis& axis : options.mesh.axes) {
    const bool is_named = options.axes.empty() || std::ranges::count(options.axes, axis.name) > 0;
    if (is_named && !ManualAxes::contains(axis.name)) out.push_back(axis);
  }
  for (const std::string& name : options.axes) {
    if (options.mesh.has(name)) continue;
    shape_error("shard_map",
                fmt::format("expected axes of the mesh {}, got '{}'", to_text(options.mesh), name),
                {});
  }
  return out;
}

// Returns the spec with an entry for each dim, without axes of size 1. Throws ShapeError if it does
// not fit.
PartitionSpec checked_spec(const PartitionSpec& spec, const std::vector<MeshAxis>& axes,
                           const std::string& what, const Shape& shape, bool is_part) {
  check_spec(spec, Mesh{axes}, what, shape, is_part);
  return canonical_sharding(spec, static_cast<int64_t>(shape.size()), Mesh{axes});
}

}  // namespace

Values shard_map(const TensorFunction& fn, const Values& arguments,
                 const ShardMapOptions& options) {
  const std::vector<MeshAxis> axes = manual_axes(options);
  if (options.in_specs.size() != arguments.size()) {
    shape_error("shard_map",
                fmt::format("expected a spec for each of {} arguments, got {}", arguments.size(),
                            options.in_specs.size()),
                arguments);
  }
  ShardMapAttributes a;
  std::ranges::copy_if(axes, std::back_inserter(a.axes),
                       [](const MeshAxis& axis) { return axis.size > 1; });
  std::vector<Type> parts;
  for (size_t i = 0; i < arguments.size(); ++i) {
    a.in_specs.push_back(checked_spec(options.in_specs[i], axes, fmt::format("argument {}", i),
                                      arguments[i].shape(), false));
    parts.push_back(part_type(arguments[i].type(), a.in_specs.back(), a.mesh()));
  }
  // A device finds its position along an axis in its part of 0, 1, 2, ...: one number.
  std::vector<MeshAxis> indexed;
  Region* body = nullptr;
  std::vector<Tensor> indices;
  ClosedRegion closed;
  {
    const ManualAxes scope(axes, [&](const MeshAxis& axis) {
      const auto found = std::ranges::find(indexed, axis.name, &MeshAxis::name);
      if (found != indexed.end()) return indices[static_cast<size_t>(found - indexed.begin())];
      indexed.push_back(axis);
      indices.push_back(body->add_parameter({DType::kI32, {1}}, "index of " + axis.name));
      return indices.back();
    });
    closed = trace_closed(
        [&](const Values& given) {
          body = &TraceScope::current();
          return fn(given);
        },
        parts);
  }
  const Values& outputs = closed.region->results();
  if (options.out_specs.size() != outputs.size()) {
    shape_error("shard_map",
                fmt::format("expected a spec for each of {} outputs, got {}", outputs.size(),
                            options.out_specs.size()),
                outputs);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    a.out_specs.push_back(checked_spec(options.out_specs[i], axes, fmt::format("output {}", i),
                                       outputs[i].shape(), true));
  }
  Values inputs = closed.operands(arguments);
  for (const MeshAxis& axis : indexed) inputs.push_back(iota({axis.size}, 0));
  if (a.axes.empty()) return inline_region(*closed.region, inputs);  // one device
  a.in_specs.insert(a.in_specs.begin(), closed.captures.size(), PartitionSpec{});
  for (size_t i = 0; i < closed.captures.size(); ++i)
    a.in_specs[i].dims.resize(closed.captures[i].shape().size());
  for (const MeshAxis& axis : indexed) {
    PartitionSpec spec;
    if (axis.size > 1)
      spec.dims.push_back(DimAxes{axis.name.c_str()});
    else
      spec.dims.emplace_back();
    a.in_specs.push_back(std::move(spec));
  }
  return emit_shard_map(closed.region, std::move(inputs), a);
}

}  // namespace axle
