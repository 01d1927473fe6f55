#include "train/program/model_flops.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/text/text_table.h"
#include "config/walk.h"
#include "layers/models/model.h"
#include "learn/learner.h"
#include "nn/layer_role.h"
#include "transform/bodies.h"
#include "transform/linearize.h"

namespace axle {
namespace {

constexpr std::string_view kRowsField = "input.batch_size";

using FlopsByDType = std::map<DType, double>;

// Marks the parameters of a region that depend on a value marked in `active`: from an operand, or
// from an earlier run of the region.
std::vector<bool> active_parameters(const OpNode& op, size_t region, const ValueSet& active) {
  const BodyFlow flow = flow_of(op);
  std::vector<bool> operands;
  for (const Tensor& x : op.inputs) operands.push_back(active.contains(x));
  operands =
      marks_through_trips(flow, operands, [&](size_t r, const std::vector<bool>& parameters) {
        return active_results(op.region(r), parameters);
      });
  return at_ports(operands, flow.regions[region].parameters);
}

// Adds the products of a region: of each, the one in the forward pass, and one in the backward pass
// for each operand that `active` marks.
void add_products(const Region& region, const ValueSet& active, double times, FlopsByDType& out) {
  for (const OpNode* op : region.ops()) {
    if (op->rules->row().traits.is_product) {
      const auto is_active = [&](const Tensor& x) { return active.contains(x); };
      const auto count = static_cast<double>(1 + std::ranges::count_if(op->inputs, is_active));
      out[op->inputs[0].dtype()] += times * count * op->rules->row().cost.flops(*op);
      continue;
    }
    const std::vector<double> trips = counted_trips(*op);
    for (size_t i = 0; i < trips.size(); ++i) {
      if (trips[i] == 0) continue;
      const Region& body = op->region(i);
      add_products(body, active_values(body, active_parameters(*op, i, active)), times * trips[i],
                   out);
    }
  }
}

// By the convention for a model that is trained as a whole.
void add_all_products(const Region& region, double times, FlopsByDType& out) {
  for (const OpNode* op : region.ops()) {
    if (op->rules->row().traits.is_product) {
      out[op->inputs[0].dtype()] += 3 * times * op->rules->row().cost.flops(*op);
    } else {
      const std::vector<double> trips = counted_trips(*op);
      for (size_t i = 0; i < trips.size(); ++i)
        add_all_products(op->region(i), times * trips[i], out);
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

bool trains_all(const ProgramSpec& spec) {
  return !spec.learner || (spec.model.frozen_models().empty() &&
                           spec.learner->trained().size() == spec.model.param_specs().size());
}

}  // namespace

ModelFlops model_flops(const ProgramSpec& spec) {
  try {
    FlopsByDType products;
    // A model has one number, whatever its masks hide and however its layers save memory.
    const CallForms plain(CallForms::Allowed::kPlain);
    ProgramSpec alone = spec;  // on one device, where no stage is idle and no buffer is padded
    alone.mesh = {};
    alone.learner = nullptr;  // which would divide the batch
    const Program program = eval_program(alone);
    if (trains_all(spec))
      add_all_products(*program.graph, 1, products);
    else
      add_products(*program.graph, trained_values(program, *spec.learner), 1, products);
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

std::vector<std::string> mfu_notes(const ModelFlops& flops, const Peak& peak,
                                   const Topology& topology) {
  std::vector<std::string> out;
  if (!flops.unknown.empty()) out.push_back(flops.unknown);
  if (peak.flops > 0) {
    out.push_back(fmt::format("mfu is the model's share of {:.4g} TFLOP/s ({})", peak.flops / 1e12,
                              peak.source));
  } else {
    out.push_back(
        fmt::format("mfu stays 0: no peak is known for products of {} on {}", to_text(flops.dtype),
                    topology.devices.empty() ? topology.platform : topology.devices[0].kind));
  }
  return out;
}

std::vector<std::string> step_time_notes(const Slot& config, const ModelFlops& flops,
                                         const Peak& peak, const RowsThatFit& rows_that_fit) {
  constexpr double kNamed = 1, kLong = 60;  // seconds
  if (peak.flops <= 0 || flops.count <= 0) return {};
  const double seconds = flops.count / peak.flops;
  if (seconds < kNamed) return {};
  std::vector<std::string> out;
  out.push_back(fmt::format("a step takes at least {}: {:.4g} FLOPs at this machine's peak",
                            duration_text(seconds), flops.count));
  if (seconds < kLong) return out;
  const int64_t rows = whole_number(config, kRowsField);
  const double of_a_row = seconds / static_cast<double>(std::max<int64_t>(rows, 1));
  const int64_t quick = std::max<int64_t>(static_cast<int64_t>(kLong / of_a_row), 1);
  const int64_t fewer = rows > quick ? rows_that_fit(quick) : 0;
  out.push_back(fmt::format(
      "WARNING: a step takes long here; {}a smaller recipe (axle config list) or a machine with "
      "accelerators makes it shorter",
      fewer > 0 ? fmt::format("--set {}={} in place of {} makes it at least {}; ", kRowsField,
                              fewer, rows, duration_text(of_a_row * static_cast<double>(fewer)))
                : ""));
  return out;
}

std::vector<std::string> measure_peak(const ProgramSpec& spec, const Slot& config,
                                      const Topology& topology, const RowsThatFit& rows_that_fit,
                                      StepCost& cost) {
  const ModelFlops flops = model_flops(spec);
  const Peak peak = machine_peak(topology, flops.dtype);
  cost.model_flops = flops.count;
  cost.peak_flops = peak.flops;
  std::vector<std::string> lines = mfu_notes(flops, peak, topology);
  for (std::string& line : step_time_notes(config, flops, peak, rows_that_fit))
    lines.push_back(std::move(line));
  return lines;
}

}  // namespace axle
