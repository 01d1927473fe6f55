#include "transform/bodies.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/lists.h"
#include "ir/eval.h"
#include "ir/hlo_builder.h"
#include "ir/tensor.h"
#include "ir/value_map.h"
#include "transform/trace.h"

namespace axle {

std::vector<std::string_view> missing_region_rules(const OpRow& row, const OpNode& op) {
  std::vector<std::string_view> out;
  if (!row.linearize) out.emplace_back("linearize");
  if (!row.body.flow) {
    out.emplace_back("body.flow");
  } else if (!row.body.emit) {
    const auto is_open = [](const RegionFlow& region) { return region.trips.is_open; };
    if (std::ranges::any_of(row.body.flow(op).regions, is_open)) out.emplace_back("body.emit");
  }
  return out;
}

BodyFlow flow_of(const OpNode& op) {
  if (op.regions.empty()) return {};
  const OpRow& row = op.rules->row();
  if (!row.body.flow) {
    throw InternalError(fmt::format("{}: expected a row with a rule for {}, got none", row.name,
                                    fmt::join(missing_region_rules(row, op), ", ")));
  }
  return row.body.flow(op);
}

std::vector<RegionTrips> trips_of_regions(const OpNode& op) {
  std::vector<RegionTrips> out;
  for (RegionFlow& region : flow_of(op).regions) out.push_back(std::move(region.trips));
  return out;
}

std::vector<double> counted_trips(const OpNode& op) {
  std::vector<double> out;
  std::optional<size_t> longest;  // of the regions that run perhaps
  double most = 0;
  for (const RegionTrips& trips : trips_of_regions(op)) {
    const bool is_once = trips.repeats == Repeats::kOnce;
    if (is_once && !trips.count) {
      const double flops = region_flops(op.region(out.size()));
      if (!longest || flops > most) longest = out.size(), most = flops;
    }
    out.push_back(trips.repeats == Repeats::kDevices
                      ? 1
                      : static_cast<double>(trips.count.value_or(is_once ? 0 : 1)));
  }
  if (longest) out[*longest] = 1;
  return out;
}

ParameterSource source_of(const OpNode& op, ParameterSource::Trip trip, size_t parameter) {
  const BodyFlow flow = flow_of(op);
  const RegionFlow& to = flow.regions[trip.region];
  const Port& port = to.parameters[parameter];
  const int64_t first = to.trips.is_reversed ? *to.trips.count - 1 : 0;
  if (port.flow != Flow::kCarried || trip.index == first) return {op.inputs[port.at]};
  for (size_t r = 0; r < flow.regions.size(); ++r) {
    const auto& results = flow.regions[r].results;
    const auto found = std::ranges::find(results, port.carried_from, &Port::at);
    if (found == results.end()) continue;
    return {op.region(r).results()[static_cast<size_t>(found - results.begin())],
            ParameterSource::Trip{r, trip.index + (to.trips.is_reversed ? 1 : -1)}};
  }
  throw InternalError(fmt::format("{}: expected a region that returns result {}, got none",
                                  op.rules->name(), port.carried_from));
}

std::vector<bool> marks_through_trips(const BodyFlow& flow, std::vector<bool> operands,
                                      const MarkTrip& run) {
  return through_trips(flow, std::move(operands), run,
                       [](std::vector<bool>& marks, size_t i, bool is_marked) {
                         const bool changes = is_marked && !marks[i];
                         if (changes) marks[i] = true;
                         return changes;
                       });
}

std::vector<bool> marks_back_through_trips(const BodyFlow& flow, std::vector<bool> results,
                                           const MarkTrip& run) {
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t r = 0; r < flow.regions.size(); ++r) {
      const auto& parameters = flow.regions[r].parameters;
      const std::vector<bool> needed = run(r, at_ports(results, flow.regions[r].results));
      for (size_t p = 0; p < parameters.size(); ++p) {
        if (!needed[p] || parameters[p].flow != Flow::kCarried) continue;
        if (!results[parameters[p].carried_from])
          results[parameters[p].carried_from] = changed = true;
      }
    }
  }
  return results;
}

std::vector<Port> ports(size_t count, Flow flow, size_t first) {
  std::vector<Port> out;
  for (size_t i = 0; i < count; ++i)
    out.push_back({.at = first + i, .flow = flow, .carried_from = i});
  return out;
}

size_t count_ports(const std::vector<Port>& ports, Flow flow) {
  return static_cast<size_t>(std::ranges::count(ports, flow, &Port::flow));
}

std::vector<bool> returned_results(const BodyFlow& flow) {
  std::vector<bool> out;
  for (const RegionFlow& region : flow.regions) {
    for (const Port& port : region.results) {
      out.resize(std::max(out.size(), port.at + 1), false);
      out[port.at] = true;
    }
  }
  return out;
}

Values emit_like(const OpNode& op, const BodyFlow& flow, const Regions& regions,
                 const Values& operands) {
  return spread_results(op.rules->row().body.emit(op, flow, regions, operands),
                        returned_results(flow));
}

Widened widen(const OpNode& op, const Values& operands, const Regions& regions, int64_t max_trips) {
  const auto rule = op.rules->row().body.widen;
  return rule ? rule(op, operands, regions, max_trips) : widen_by_emit(op, operands, regions);
}

Widened widen_by_emit(const OpNode& op, const Values& operands, const Regions& regions) {
  BodyFlow flow = flow_of(op);
  std::vector<size_t> first{op.outputs.size()};  // of the extra values of each region, and the end
  for (size_t r = 0; r < regions.size(); ++r) {
    RegionFlow& own = flow.regions[r];
    const size_t count = regions[r]->results().size() - op.region(r).results().size();
    const auto extra =
        ports(count, own.trips.repeats == Repeats::kOnce ? Flow::kWhole : Flow::kSliced, first[r]);
    own.results.insert(own.results.end(), extra.begin(), extra.end());
    first.push_back(first[r] + count);
  }
  const Values all = emit_like(op, flow, regions, operands);
  const std::span values(all);
  Widened out{.results = concatenate<Tensor>({values.first(first[0])}),
              .ran = Values(regions.size())};
  for (size_t r = 0; r < regions.size(); ++r)
    out.extra.push_back(concatenate<Tensor>({values.subspan(first[r], first[r + 1] - first[r])}));
  return out;
}

void check_num_regions(const OpNode& op, size_t expected) {
  if (op.regions.size() == expected) return;
  shape_error(op, fmt::format("expected {} regions, got {}", expected, op.regions.size()));
}

void check_parameters(const OpNode& op, size_t index, const std::vector<Type>& arguments) {
  const Values& parameters = op.region(index).parameters();
  if (parameters.size() != arguments.size()) {
    shape_error(op, fmt::format("expected {} arguments for region {}, got {}", parameters.size(),
                                index, arguments.size()));
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (parameters[i].type() == arguments[i]) continue;
    shape_error(op, fmt::format("expected {} as argument {} of region {}, got {}",
                                to_text(parameters[i].type()), i, index, to_text(arguments[i])));
  }
}

std::vector<Type> infer_body(const OpNode& op) {
  check_num_regions(op, 1);
  check_parameters(op, 0, types_of(op.inputs));
  return types_of(op.region().results());
}

HloValues inline_body(const OpNode& op, HloBuilder& b, const HloValues& x) {
  return b.inline_region(op.region(), x);
}

void eval_body(const EvalOptions& options, const OpNode& op, std::span<const HostTensor* const> x,
               std::span<HostTensor> y) {
  std::ranges::move(evaluate_borrowing(op.region(), x, options), y.begin());
}

BodyFlow flow_of_body(const OpNode& op) {
  return {{{.parameters = ports(op.inputs.size()), .results = ports(op.outputs.size())}}, Port{}};
}

Values emit_body(const OpNode& op, const BodyFlow& flow, Regions regions, const Values& operands) {
  return emit_all(*op.rules, at_ports(operands, flow.regions[0].parameters), op.attributes,
                  std::move(regions));
}

Widened widen_body(const OpNode& op, const Values& operands, const Regions& regions, int64_t) {
  const Values all = inline_region(*regions[0], operands);
  const std::span values(all);
  Widened out{.results = concatenate<Tensor>({values.first(op.outputs.size())}),
              .extra = std::vector<Values>(op.regions.size()),
              .ran = Values(op.regions.size())};
  out.extra[0] = concatenate<Tensor>({values.subspan(op.outputs.size())});
  return out;
}

double region_flops(const Region& region) {
  double sum = 0;
  for (const OpNode* op : region.ops()) sum += op->rules->row().cost.flops(*op);
  return sum;
}
double region_bytes(const Region& region) {
  double sum = 0;
  for (const OpNode* op : region.ops()) sum += op->rules->row().cost.bytes(*op);
  return sum;
}
double body_flops(const OpNode& op) { return region_flops(op.region()); }
double body_bytes(const OpNode& op) { return region_bytes(op.region()); }

std::vector<bool> needed_parameters(const Region& region) {
  ValueSet needed(region.results());
  for (const OpNode* op : region.ops()) needed.insert_all(op->inputs);
  std::vector<bool> out;
  for (const Tensor& p : region.parameters()) out.push_back(needed.contains(p));
  return out;
}

namespace {

// Marks the operands that the used results of an op need, over all trips of its regions.
std::vector<bool> needed_operands(const OpNode& op, const std::vector<bool>& used) {
  std::vector<bool> out(op.inputs.size(), true);
  if (!op.rules->row().body.emit) return out;
  const BodyFlow flow = flow_of(op);
  const auto run = [&](size_t r, const std::vector<bool>& results) {
    return needed_parameters(op.region(r), results);
  };
  const std::vector<bool> results = marks_back_through_trips(flow, used, run);
  for (const RegionFlow& region : flow.regions) {
    for (const Port& port : region.parameters)
      out[port.at] = port.is_needed || (port.flow == Flow::kCarried && results[port.carried_from]);
  }
  for (size_t r = 0; r < flow.regions.size(); ++r) {
    const std::vector<bool> read = run(r, at_ports(results, flow.regions[r].results));
    for (size_t p = 0; p < read.size(); ++p) {
      if (read[p]) out[flow.regions[r].parameters[p].at] = true;
    }
  }
  return out;
}

}  // namespace

std::vector<bool> needed_parameters(const Region& region, std::vector<bool> results) {
  results.resize(region.results().size(), true);
  ValueSet needed(selected(region.results(), results));
  for (const OpNode* const op : Reversed(region.ops())) {
    std::vector<bool> used;
    for (const Tensor& t : op->results()) used.push_back(needed.contains(t));
    if (std::ranges::count(used, true) > 0 || has_effect(*op))
      needed.insert_all(selected(op->inputs, needed_operands(*op, used)));
  }
  std::vector<bool> out;
  for (const Tensor& p : region.parameters()) out.push_back(needed.contains(p));
  return out;
}

Values spread_results(const Values& results, const std::vector<bool>& used) {
  Values out;
  size_t next = 0;
  for (const bool is_used : used) out.push_back(is_used ? results[next++] : Tensor());
  return out;
}

}  // namespace axle
