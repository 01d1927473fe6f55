#include "transform/batch_region.h"

#include "base/error.h"
#include "ir/value_map.h"
#include "ops/create.h"
#include "ops/movement/movement.h"
#include "ops/rules.h"
#include "transform/bodies.h"

namespace axle {
namespace {

Tensor repeated(const Tensor& t, const BatchAxis& axis) {
  return broadcast_in_dim(t, prepended(axis.size, t.shape()), axis_range(1, t.rank() + 1));
}

}  // namespace

std::vector<Batched> with_marks(const Values& values, const std::vector<bool>& batched) {
  std::vector<Batched> out;
  for (size_t i = 0; i < values.size(); ++i) out.push_back({values[i], batched[i]});
  return out;
}

std::vector<bool> batched_marks(std::span<const Batched> values) {
  std::vector<bool> out;
  for (const Batched& v : values) out.push_back(v.is_batched);
  return out;
}

Values with_batch_dims(std::span<const Batched> values, const BatchAxis& axis) {
  Values out;
  for (const Batched& v : values) out.push_back(v.is_batched ? v.value : repeated(v.value, axis));
  return out;
}

std::vector<Batched> batch_region(const Region& region, std::span<const Batched> arguments,
                                  const BatchAxis& axis) {
  AXLE_CHECK(arguments.size() == region.parameters().size(), "one argument for each parameter");
  ValueMap<Batched> values;
  for (size_t i = 0; i < arguments.size(); ++i) values[region.parameters()[i]] = arguments[i];
  for (const OpNode* op : region.ops()) {
    std::vector<Batched> operands;
    for (const Tensor& t : op->inputs) operands.push_back(values.at(t));
    const OriginScope origin(*op);
    std::vector<Batched> results;
    if (std::ranges::any_of(operands, &Batched::is_batched)) {
      AXLE_CHECK(op->rules->row().batch,
                 "op without a batching rule: " + std::string(op->rules->name()));
      results = op->rules->row().batch(BatchX(*op, operands, axis));
    } else {
      const Values copies = emit_all(*op->rules, operands_of(BatchX(*op, operands, axis)),
                                     op->attributes, op->regions);
      results = with_marks(copies, std::vector<bool>(copies.size(), false));
    }
    AXLE_CHECK(results.size() == op->outputs.size(),
               "one batched result for each result of " + std::string(op->rules->name()));
    for (uint32_t i = 0; i < results.size(); ++i) values[Tensor(op, i)] = std::move(results[i]);
  }
  std::vector<Batched> out;
  for (const Tensor& t : region.results()) out.push_back(values.at(t));
  return out;
}

std::vector<bool> batched_results(const Region& region, const std::vector<bool>& batched) {
  ValueSet values;
  for (size_t i = 0; i < batched.size(); ++i) {
    if (batched[i]) values.insert(region.parameters()[i]);
  }
  const auto is_batched = [&](const Tensor& t) { return values.contains(t); };
  for (const OpNode* op : region.ops()) {
    if (!std::ranges::any_of(op->inputs, is_batched)) continue;
    for (const Tensor& t : op->results()) values.insert(t);
  }
  std::vector<bool> out;
  for (const Tensor& t : region.results()) out.push_back(is_batched(t));
  return out;
}

BatchedRegion batched_region(const Region& region, const std::vector<bool>& batched,
                             const BatchAxis& axis, const std::vector<bool>& force) {
  std::vector<Type> types;
  for (size_t i = 0; i < batched.size(); ++i) {
    Type type = region.parameters()[i].type();
    if (batched[i]) type.dims = prepended(axis.size, type.dims);
    types.push_back(std::move(type));
  }
  BatchedRegion out;
  out.region = trace(
      [&](const Values& parameters) {
        Values results;
        for (const Batched& v : batch_region(region, with_marks(parameters, batched), axis)) {
          const bool forced = !force.empty() && force[results.size()] && !v.is_batched;
          results.push_back(forced ? repeated(v.value, axis) : v.value);
          out.results.push_back(v.is_batched || forced);
        }
        return results;
      },
      types);
  return out;
}

std::vector<Batched> batch_flow(BatchX x) {
  const OpNode& op = x.op();
  const BodyFlow flow = flow_of(op);
  // What is carried must be batched in all runs, and what one of several branches returns in all.
  std::vector<bool> force(op.outputs.size(), false);
  const std::vector<bool> operands = marks_through_trips(
      flow, batched_marks(x.values()), [&](size_t r, const std::vector<bool>& parameters) {
        const std::vector<bool> own = batched_results(op.region(r), parameters);
        for (size_t i = 0; i < own.size() && flow.regions.size() > 1; ++i) {
          if (own[i]) force[flow.regions[r].results[i].at] = true;
        }
        return own;
      });
  Values inputs = operands_of(x);
  for (const RegionFlow& region : flow.regions) {
    for (const Port& port : region.parameters) {
      const size_t i = port.at;
      if (!operands[i]) continue;
      if (port.flow == Flow::kCarried) {
        inputs[i] = with_batch_dims(x.values().subspan(i, 1), x.axis())[0];
        force[port.carried_from] = true;
      }
      if (port.flow == Flow::kSliced) inputs[i] = move_axis(x[i], 0, 1);
    }
  }
  Regions regions;
  std::vector<bool> results;
  for (size_t r = 0; r < flow.regions.size(); ++r) {
    const auto& [parameters, own, trips] = flow.regions[r];
    BatchedRegion body = batched_region(op.region(r), at_ports(operands, parameters), x.axis(),
                                        at_ports(force, own));
    regions.push_back(std::move(body.region));
    results = std::move(body.results);
  }
  std::vector<Batched> out = with_marks(emit_like(op, flow, regions, inputs), results);
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i].is_batched && flow.regions[0].results[i].flow == Flow::kSliced)
      out[i].value = move_axis(out[i].value, 1, 0);
  }
  return out;
}

Values operands_of(BatchX x) {
  Values out;
  for (const Batched& v : x.values()) out.push_back(v.value);
  return out;
}

}  // namespace axle
