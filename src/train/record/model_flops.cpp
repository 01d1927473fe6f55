#include "train/record/model_flops.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "layers/models/model.h"
#include "learn/learner.h"
#include "nn/layer_role.h"
#include "transform/linearize.h"
#include "transform/regions.h"

namespace axle {
namespace {

using FlopsByDType = std::map<DType, double>;

// Marks the parameters of a region that depend on a value marked in `active`: from an operand, or
// from an earlier run of the region.
std::vector<bool> active_parameters(const OpNode& op, size_t region, const ValueSet& active) {
  const Region& body = op.region(region);
  std::vector<bool> out(body.parameters().size());
  ValueSet within;
  for (bool changes = true; std::exchange(changes, false);) {
    for (size_t i = 0; i < out.size(); ++i) {
      for (const int64_t run : {0, 1}) {
        const ParameterSource source = op.rules->row().source(op, {region, run}, i);
        const bool is_active = (source.run ? within : active).contains(source.value);
        changes |= is_active && !out[i];
        out[i] = out[i] || is_active;
      }
    }
    if (changes) within = active_values(body, out);
  }
  return out;
}

// Adds the products of a region: of each, the one in the forward pass, and one in the backward pass
// for each operand that `active` marks.
void add_products(const Region& region, const ValueSet& active, double times, FlopsByDType& out) {
  for (const OpNode* op : region.ops()) {
    if (op->rules->row().is_product) {
      const auto is_active = [&](const Tensor& x) { return active.contains(x); };
      const auto count = static_cast<double>(1 + std::ranges::count_if(op->inputs, is_active));
      out[op->inputs[0].dtype()] += times * count * op->rules->row().cost.flops(*op);
      continue;
    }
    const std::vector<double> runs = counted_runs(*op);
    for (size_t i = 0; i < runs.size(); ++i) {
      if (runs[i] == 0) continue;
      const Region& body = op->region(i);
      add_products(body, active_values(body, active_parameters(*op, i, active)), times * runs[i],
                   out);
    }
  }
}

// By the convention for a model that is trained as a whole.
void add_all_products(const Region& region, double times, FlopsByDType& out) {
  for (const OpNode* op : region.ops()) {
    if (op->rules->row().is_product) {
      out[op->inputs[0].dtype()] += 3 * times * op->rules->row().cost.flops(*op);
    } else {
      const std::vector<double> runs = counted_runs(*op);
      for (size_t i = 0; i < runs.size(); ++i)
        add_all_products(op->region(i), times * runs[i], out);
    }
  }
}

// The values of an evaluation that depend on what the learner trains.
ValueSet trained_values(const Program& program, const Learner& learner) {
  std::vector<bool> marks;
  for (const ProgramValue& input : program.inputs)
    marks.push_back(learner.trained().contains(input.name));
  return active_values(*program.graph, marks);
}

bool trains_all(const ProgramParts& parts) {
  return !parts.learner || (parts.model.frozen_models().empty() &&
                            parts.learner->trained().size() == parts.model.param_specs().size());
}

}  // namespace

ModelFlops model_flops(const ProgramParts& parts) {
  try {
    FlopsByDType products;
    // A model has one number, whatever its masks hide and however its layers save memory.
    const CallForms plain(CallForms::Allowed::kPlain);
    ProgramParts alone = parts;  // on one device, where no stage is idle and no buffer is padded
    alone.mesh = {};
    alone.learner = nullptr;  // which would divide the batch
    const Program program = eval_program(alone);
    if (trains_all(parts))
      add_all_products(*program.graph, 1, products);
    else
      add_products(*program.graph, trained_values(program, *parts.learner), 1, products);
    ModelFlops out;
    double most = 0;
    for (const auto& [dtype, flops] : products) {
      out.count += flops;
      if (flops > most) most = flops, out.dtype = dtype;
    }
    return out;
  } catch (const std::exception& error) {
    return {.unknown = fmt::format("mfu stays 0: the FLOPs of the model are not known, because its "
                                   "forward pass outside of training fails: {}",
                                   error.what())};
  }
}

}  // namespace axle
