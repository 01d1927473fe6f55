#include "transform/shard_map/shard_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/concatenate.h"
#include "base/error.h"
#include "base/text/text.h"
#include "ir/devices/manual_axes.h"
#include "ir/devices/sharding.h"
#include "ir/devices/simulated_devices.h"
#include "ir/eval.h"
#include "ir/hlo_builder.h"
#include "ops/batching.h"
#include "ops/create.h"
#include "ops/rules.h"
#include "transform/batch_region.h"
#include "transform/body.h"
#include "transform/shard_map/shard_map_attributes.h"
#include "transform/shard_map/shard_map_vjp.h"

namespace axle {

std::string ShardMapAttributes::text() const {
  const auto list = [](const std::vector<PartitionSpec>& specs) {
    std::vector<std::string> out;
    for (const PartitionSpec& spec : specs) out.push_back(to_text(spec));
    return join(out, ", ");
  };
  return fmt::format("axes = {}, in = {}, out = {}", to_text(mesh()), list(in_specs),
                     list(out_specs));
}

int64_t ShardMapAttributes::num_devices() const { return mesh().num_devices(); }

std::vector<MeshAxis> ShardMapAttributes::axes_of_copies(const PartitionSpec& spec) const {
  std::vector<MeshAxis> out;
  for (const MeshAxis& axis : axes) {
    const auto names = [&](const DimAxes& dim) { return std::ranges::count(dim, axis.name) > 0; };
    if (std::ranges::none_of(spec.dims, names)) out.push_back(axis);
  }
  return out;
}

Type part_type(Type whole, const PartitionSpec& spec, const Mesh& mesh) {
  for (size_t d = 0; d < spec.dims.size(); ++d) whole.dims[d] /= num_parts(spec.dims[d], mesh);
  return whole;
}
Type whole_type(Type part, const PartitionSpec& spec, const Mesh& mesh) {
  for (size_t d = 0; d < spec.dims.size(); ++d) part.dims[d] *= num_parts(spec.dims[d], mesh);
  return part;
}

namespace {

std::vector<Type> infer_shard_map(const OpNode& op) {
  const auto& a = op.attrs<ShardMapAttributes>();
  std::vector<Type> out;
  for (size_t i = 0; i < op.region().results().size(); ++i)
    out.push_back(whole_type(op.region().results()[i].type(), a.out_specs[i], a.mesh()));
  return out;
}

// Runs the body once for each device, in a thread of its own.
void eval_shard_map(const EvalOptions& options, const OpNode& op,
                    std::span<const HostTensor* const> x, std::span<HostTensor> y) {
  const auto& a = op.attrs<ShardMapAttributes>();
  const auto slices_of = [&](const Shape& shape, const PartitionSpec& spec) {
    return shard_slices(shape, spec, a.mesh());
  };
  std::vector<std::vector<Slice>> in, out;
  for (size_t i = 0; i < x.size(); ++i) in.push_back(slices_of(x[i]->shape(), a.in_specs[i]));
  for (size_t i = 0; i < y.size(); ++i) out.push_back(slices_of(y[i].shape(), a.out_specs[i]));
  std::vector<std::vector<HostTensor>> results(static_cast<size_t>(a.num_devices()));
  run_devices(a.axes, [&](int64_t device) {
    const auto d = static_cast<size_t>(device);
    std::vector<HostTensor> parts;
    for (size_t i = 0; i < x.size(); ++i) parts.push_back(extract(*x[i], in[i][d]));
    results[d] = evaluate(op.region(), std::move(parts), options);
  });
  for (size_t d = results.size(); d-- > 0;) {  // of copies, the first device's counts
    for (size_t i = 0; i < y.size(); ++i) insert(y[i], out[i][d], results[d][i]);
  }
}

HloValues lower_shard_map(const OpNode& op, HloBuilder& b, const HloValues& x) {
  const auto& a = op.attrs<ShardMapAttributes>();
  std::vector<std::string> names;
  for (const MeshAxis& axis : a.axes) {
    if (b.mesh().size(axis.name) != axis.size) {
      shape_error(op, fmt::format("expected a program over a mesh with {}={}, got '{}'", axis.name,
                                  axis.size, to_text(b.mesh())));
    }
    names.push_back(axis.name);
  }
  return b.manual_computation(
      x, a.in_specs, a.out_specs, names, types_of(op.region().parameters()), op.outputs,
      [&](const HloValues& parts) { return b.inline_region(op.region(), parts); });
}

// The batch is divided over the mesh axes of the vmap, if these are manual here, else not.
std::vector<Batched> batch_shard_map(BatchX x) {
  auto a = x.attrs<ShardMapAttributes>();
  const std::vector<bool> marks = batched_marks(x.values());
  BatchAxis inside = x.axis();
  DimAxes dim;
  for (const std::string& name : x.axis().mesh_axes) {
    const auto axis = std::ranges::find(a.axes, name, &MeshAxis::name);
    if (axis == a.axes.end()) continue;
    if (inside.size % axis->size != 0) {
      shape_error(x.op(), fmt::format("expected a batch that its mesh axes divide, got a batch of "
                                      "{} over {}={}",
                                      x.axis().size, name, axis->size));
    }
    dim.push_back(name);
    inside.size /= axis->size;
    std::erase(inside.mesh_axes, name);
  }
  const BatchedRegion body = batched_region(x.op().region(), marks, inside);
  const auto add_dim = [&](std::vector<PartitionSpec>& specs, const std::vector<bool>& batched) {
    for (size_t i = 0; i < specs.size(); ++i) {
      if (!batched[i]) continue;
      specs[i].dims.insert(specs[i].dims.begin(), dim);
      if (const auto axis = axis_named_twice(specs[i])) {
        shape_error(x.op(), fmt::format("expected a mesh axis for the batch that the specs do not "
                                        "name, got '{}'",
                                        *axis));
      }
    }
  };
  add_dim(a.in_specs, marks);
  add_dim(a.out_specs, body.results);
  return marked(emit_shard_map(body.region, operands_of(x), a), body.results);
}

// The costs of one device.
const OpRules shard_map_rules({.name = "shard_map",
                               .infer = infer_shard_map,
                               .batch = batch_shard_map,
                               .linearize = linearize_shard_map,
                               .eval = eval_shard_map,
                               .hlo = lower_shard_map,
                               .cost = {body_flops, body_bytes}});

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
  for (const DimAxes& dim : spec.dims) {
    for (const std::string& name : dim) {
      if (Mesh{axes}.has(name)) continue;
      shape_error("shard_map",
                  fmt::format("expected manual axes ({}) in the spec of {}, got '{}'",
                              to_text(Mesh{axes}), what, name),
                  {});
    }
  }
  try {
    const Shape& checked = is_part ? Shape(shape.size(), 0) : shape;
    check_partition(what, checked, spec, Mesh{axes});
  } catch (const ConfigError& error) {
    shape_error("shard_map", error.what(), {});
  }
  return canonical_sharding(spec, static_cast<int64_t>(shape.size()), Mesh{axes});
}

}  // namespace

Values emit_shard_map(std::shared_ptr<const Region> body, Values inputs,
                      const ShardMapAttributes& attributes) {
  return emit_all(shard_map_rules, std::move(inputs),
                  std::make_shared<const ShardMapAttributes>(attributes), {std::move(body)});
}

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
