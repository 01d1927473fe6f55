#include "transform/shard_map/shard_map.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/lists.h"
#include "base/text/text.h"
#include "ir/devices/sharding.h"
#include "ir/devices/simulated_devices.h"
#include "ir/eval.h"
#include "ir/hlo_builder.h"
#include "ops/collectives/collectives.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/rules.h"
#include "transform/batch_region.h"
#include "transform/bodies.h"
#include "transform/linearize.h"
#include "transform/partition.h"
#include "transform/shard_map/shard_map_op.h"

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

void check_spec(const PartitionSpec& spec, const Mesh& mesh, const std::string& what,
                const Shape& shape, bool is_part) {
  for (const DimAxes& dim : spec.dims) {
    for (const std::string& name : dim) {
      if (mesh.has(name)) continue;
      shape_error("shard_map", fmt::format("expected manual axes ({}) in the spec of {}, got '{}'",
                                           to_text(mesh), what, name));
    }
  }
  try {
    check_partition(what, is_part ? Shape(shape.size(), 0) : shape, spec, mesh);
  } catch (const ConfigError& error) {
    shape_error("shard_map", error.what());
  }
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
  check_num_regions(op, 1);
  const Values& results = op.region().results();
  if (a.in_specs.size() != op.inputs.size() || a.out_specs.size() != results.size()) {
    shape_error(
        op, fmt::format("expected a spec for each of {} operands and {} results, got {} "
                        "and {}",
                        op.inputs.size(), results.size(), a.in_specs.size(), a.out_specs.size()));
  }
  std::vector<Type> parts;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const Type& whole = op.inputs[i].type();
    check_spec(a.in_specs[i], a.mesh(), fmt::format("operand {}", i), whole.dims, false);
    parts.push_back(part_type(whole, a.in_specs[i], a.mesh()));
  }
  check_parameters(op, 0, parts);
  for (size_t i = 0; i < results.size(); ++i)
    check_spec(a.out_specs[i], a.mesh(), fmt::format("result {}", i), results[i].shape(), true);
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
  return with_marks(emit_shard_map(body.region, operands_of(x), a), body.results);
}

BodyFlow flow_of_shard_map(const OpNode& op) {
  const auto& a = op.attrs<ShardMapAttributes>();
  const auto parts = [](const std::vector<PartitionSpec>& specs) {
    std::vector<Port> out;
    for (const PartitionSpec& spec : specs)
      out.push_back({.at = out.size(), .flow = Flow::kPart, .spec = spec});
    return out;
  };
  // A kept value may differ on every device: its parts are concatenated along dim 0, over all axes.
  return {{{.parameters = parts(a.in_specs),
            .results = parts(a.out_specs),
            .trips = {.repeats = Repeats::kDevices, .count = a.num_devices(), .axes = a.axes}}},
          Port{.flow = Flow::kPart, .spec = {{names_of(a.axes)}}}};
}

// A scalar that is kept is a part of one element. Sliced results are stacked, one for each device.
Values emit_shard_map_like(const OpNode& op, const BodyFlow& flow, Regions regions,
                           const Values& operands) {
  const auto& [parameters, results, trips] = flow.regions[0];
  const Region& body = *regions[0];
  ShardMapAttributes a = op.attrs<ShardMapAttributes>();
  a.in_specs.clear();
  a.out_specs.clear();
  bool changes = false;
  std::vector<Type> types = types_of(body.parameters());
  for (size_t i = 0; i < parameters.size(); ++i) {
    a.in_specs.push_back(parameters[i].spec);
    if (a.in_specs[i].dims.size() <= types[i].dims.size()) continue;
    types[i].dims = {1};
    changes = true;
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const auto rank = static_cast<size_t>(body.results()[i].rank());
    a.out_specs.push_back(results[i].spec);
    if (results[i].flow == Flow::kSliced) {
      a.out_specs[i] = {{names_of(a.axes)}};
      a.out_specs[i].dims.resize(rank + 1);
    }
    changes = changes || a.out_specs[i].dims.size() > rank;
  }
  const auto in_parts = [&](const Values& given) {
    Values parts;
    for (size_t i = 0; i < given.size(); ++i)
      parts.push_back(reshape(given[i], body.parameters()[i].shape()));
    Values out = inline_region(body, parts);
    for (size_t i = 0; i < out.size(); ++i) {
      const auto rank = static_cast<size_t>(out[i].rank());
      if (a.out_specs[i].dims.size() > rank) out[i] = expand_dims(out[i], 0);
    }
    return out;
  };
  if (changes) regions[0] = trace(in_parts, types);
  return emit_shard_map(std::move(regions[0]), at_ports(operands, parameters), a);
}

// The axes are manual while the function is traced.
std::shared_ptr<const Region> trace_manual(const ShardMapAttributes& a, const TensorFunction& fn,
                                           const std::vector<Type>& types) {
  const ManualAxes scope(a.axes, [](const MeshAxis&) { return Tensor(); });
  return trace(fn, types);
}

// Splits the body into a forward and a backward half, each in a shard_map of its own. Residuals
// stay on the devices that computed them.
Linearized linearize_shard_map(const OpNode& op, const Values& inputs,
                               const std::vector<bool>& active) {
  const auto a = op.attrs<ShardMapAttributes>();
  const Halves halves =
      split(make_joint(op.region(), active, std::vector<bool>(op.outputs.size(), true)), nullptr);
  const size_t num_results = op.outputs.size();
  BodyFlow flow = flow_of_shard_map(op), backward = flow;
  auto& [parameters, results, trips] = backward.regions[0];
  const auto add = [](std::vector<Port>& ports, Port port) {
    port.at = ports.size();
    ports.push_back(std::move(port));
  };
  parameters.clear();
  results.clear();
  for (const size_t i : halves.needed) add(parameters, flow.regions[0].parameters[i]);
  for (size_t i = 0; i < halves.saved.size(); ++i) {
    add(parameters, *flow.kept);
    add(flow.regions[0].results, *flow.kept);
  }
  for (const size_t i : halves.joint.cotangent_of) add(parameters, flow.regions[0].results[i]);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (halves.joint.input_cotangent[i] >= 0) add(results, flow.regions[0].parameters[i]);
  }
  const Values computed = emit_like(op, flow, {halves.forward}, inputs);
  auto pullback = [=, &op](const Values& cotangents) {
    Values in;
    for (const size_t i : halves.needed) in.push_back(inputs[i]);
    in = concatenate<Tensor>({in, std::span(computed).subspan(num_results)});
    for (const size_t i : halves.joint.cotangent_of) {
      const int64_t copies = Mesh{a.axes_of_copies(a.out_specs[i])}.num_devices();
      const Tensor g = instantiate(cotangents[i], computed[i].type());
      in.push_back(copies == 1 ? g : g / copies);
    }
    const auto body = trace_manual(
        a,
        [&](const Values& parts) {
          Values out;
          for (const Tensor& g : inline_region(*halves.backward, parts)) {
            const PartitionSpec& spec = backward.regions[0].results[out.size()].spec;
            out.push_back(psum(g, names_of(a.axes_of_copies(spec))));
          }
          return out;
        },
        types_of(halves.backward->parameters()));
    return spread_input_cotangents(halves.joint, emit_like(op, backward, {body}, in));
  };
  return {concatenate<Tensor>({std::span(computed).first(num_results)}), std::move(pullback)};
}

// The costs of one device.
const OpRules shard_map_rules({.name = "shard_map",
                               .infer = infer_shard_map,
                               .batch = batch_shard_map,
                               .linearize = linearize_shard_map,
                               .body = {flow_of_shard_map, emit_shard_map_like},
                               .eval = eval_shard_map,
                               .hlo = lower_shard_map,
                               .cost = {body_flops, body_bytes}});

}  // namespace

Values emit_shard_map(std::shared_ptr<const Region> body, Values inputs,
                      const ShardMapAttributes& attributes) {
  return emit_all(shard_map_rules, std::move(inputs),
                  std::make_shared<const ShardMapAttributes>(attributes), {std::move(body)});
}

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
