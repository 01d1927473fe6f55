#include "transform/shard_map/shard_map_op.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/text.h"
#include "ir/devices/sharding.h"
#include "ir/devices/simulated_devices.h"
#include "ir/eval.h"
#include "ir/hlo_builder.h"
#include "ops/movement/shape.h"
#include "ops/rules.h"
#include "transform/batch_region.h"
#include "transform/body.h"
#include "transform/shard_map/shard_map_divide.h"
#include "transform/shard_map/shard_map_prune.h"
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

std::vector<RegionRuns> shard_map_regions(const OpNode& op) {
  const auto& a = op.attrs<ShardMapAttributes>();
  return {{.repeats = Repeats::kDevices, .count = a.num_devices(), .axes = a.axes}};
}

// The extra values of all devices are stacked.
Widened widen_shard_map(const OpNode& op, const Values& inputs,
                        std::span<const std::shared_ptr<const Region>> regions, int64_t) {
  const size_t num_results = op.outputs.size();
  const auto stacked = trace(
      [&](const Values& parameters) {
        Values out = inline_region(*regions[0], parameters);
        for (size_t i = num_results; i < out.size(); ++i) out[i] = expand_dims(out[i], 0);
        return out;
      },
      types_of(op.region().parameters()));
  ShardMapAttributes a = op.attrs<ShardMapAttributes>();
  DimAxes all;
  for (const MeshAxis& axis : a.axes) all.push_back(axis.name);
  for (size_t i = num_results; i < stacked->results().size(); ++i) {
    PartitionSpec spec{.dims = {all}};
    spec.dims.resize(static_cast<size_t>(stacked->results()[i].rank()));
    a.out_specs.push_back(std::move(spec));
  }
  return widened(op, emit_shard_map(stacked, inputs, a));
}

// The costs of one device.
const OpRules shard_map_rules({.name = "shard_map",
                               .infer = infer_shard_map,
                               .batch = batch_shard_map,
                               .linearize = linearize_shard_map,
                               .prune = prune_shard_map,
                               .divide = divide_shard_map,
                               .regions = shard_map_regions,
                               .source = operand_of_parameter,
                               .widen = widen_shard_map,
                               .eval = eval_shard_map,
                               .hlo = lower_shard_map,
                               .cost = {body_flops, body_bytes}});

}  // namespace

Values emit_shard_map(std::shared_ptr<const Region> body, Values inputs,
                      const ShardMapAttributes& attributes) {
  return emit_all(shard_map_rules, std::move(inputs),
                  std::make_shared<const ShardMapAttributes>(attributes), {std::move(body)});
}

}  // namespace axle
