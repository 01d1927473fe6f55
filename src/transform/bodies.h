// Ops with regions. The row of such an op says once what flows through its regions (BodyRules).
// This header has what follows from that, and the rules of ops that run their first region once:
// call, remat, custom_vjp, kernel_call. Marks: one bool for each value.
//
// What else follows: simplify.h removes what unused results need, batch_region.h batches, and
// partition.h divides an op between the two parts of a remat.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/op_rules.h"
#include "ir/tensor.h"

namespace axle {

/// Returns what flows through the regions of the op. Throws InternalError that names the op if its
/// row lacks a rule (missing_region_rules).
BodyFlow flow_of(const OpNode& op);
/// Returns the fields of `row` that this op, which has regions, needs and that are not set.
std::vector<std::string_view> missing_region_rules(const OpRow& row, const OpNode& op);
/// Returns the trips of each region of the op.
std::vector<RegionTrips> trips_of_regions(const OpNode& op);
/// Returns, for each region, the number of its trips that the op's cost includes: for a loop of
/// unknown length 1; of branches, the one with the most operations.
std::vector<double> counted_trips(const OpNode& op);

/// Where a parameter of a region gets its value from.
struct ParameterSource {
  struct Trip {
    size_t region;
    int64_t index;
  };
  Tensor value;
  std::optional<Trip> trip = {};  // the trip of which `value` is a result; none: it is an operand
};
/// Returns the source of a parameter in one trip of its region.
ParameterSource source_of(const OpNode& op, ParameterSource::Trip trip, size_t parameter);

/// Returns the elements that the ports number.
template <class T>
std::vector<T> at_ports(const std::vector<T>& all, const std::vector<Port>& ports) {
  std::vector<T> out;
  out.reserve(ports.size());
  for (const Port& port : ports) out.push_back(all[port.at]);
  return out;
}
/// Forward dataflow to a fixpoint: carried results are joined into their operands until nothing
/// changes. `operands` says what is known of each operand. `run` maps what is known of the
/// parameters of region `r` to what is known of its results. `join` adds to one element and returns
/// true if that changes it.
template <class T, class Run, class Join>
std::vector<T> through_trips(const BodyFlow& flow, std::vector<T> operands, Run run, Join join) {
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<std::vector<T>> results;
    for (size_t r = 0; r < flow.regions.size(); ++r)
      results.push_back(run(r, at_ports(operands, flow.regions[r].parameters)));
    for (const RegionFlow& to : flow.regions) {
      for (const Port& carried : to.parameters) {
        if (carried.flow != Flow::kCarried) continue;
        for (size_t r = 0; r < flow.regions.size(); ++r) {
          const std::vector<Port>& ports = flow.regions[r].results;
          for (size_t i = 0; i < ports.size(); ++i) {
            if (ports[i].at == carried.carried_from)
              changed |= join(operands, carried.at, results[r][i]);
          }
        }
      }
    }
  }
  return operands;
}
/// The same for marks.
using MarkTrip = std::function<std::vector<bool>(size_t r, const std::vector<bool>& parameters)>;
std::vector<bool> marks_through_trips(const BodyFlow& flow, std::vector<bool> operands,
                                      const MarkTrip& run);
/// Backward dataflow to a fixpoint: also marks each result whose earlier iterations a marked result
/// needs. `run` maps marks of the results of region `r` to marks of the parameters that they need.
std::vector<bool> marks_back_through_trips(const BodyFlow& flow, std::vector<bool> results,
                                           const MarkTrip& run);

/// Returns ports of operands or results `first`, `first` + 1, ... What they carry is results 0, 1,
/// ... of the op.
std::vector<Port> ports(size_t count, Flow flow = Flow::kWhole, size_t first = 0);
/// Returns how many ports have this flow.
size_t count_ports(const std::vector<Port>& ports, Flow flow);
/// Returns the number of the first slot that equals `wanted` and is not in `taken`. Adds a slot if
/// there is none. Branches share slots for their further results.
template <class Slot>
size_t take_slot(std::vector<Slot>& slots, const Slot& wanted, const std::vector<size_t>& taken) {
  size_t slot = 0;
  while (slot < slots.size() &&
         (slots[slot] != wanted || std::ranges::find(taken, slot) != taken.end()))
    ++slot;
  if (slot == slots.size()) slots.push_back(wanted);
  return slot;
}

/// Marks the results that the regions return.
std::vector<bool> returned_results(const BodyFlow& flow);
/// Emits the op with other regions (BodyRules::EmitRule). Returns each result at its number, empty
/// tensors for those that no region returns.
Values emit_like(const OpNode& op, const BodyFlow& flow, const Regions& regions,
                 const Values& operands);
/// Emits the op with regions that return extra values (BodyRules::WidenRule), by its emit rule or,
/// if it has one, its widen rule.
Widened widen_by_emit(const OpNode& op, const Values& operands, const Regions& regions);
Widened widen(const OpNode& op, const Values& operands, const Regions& regions, int64_t max_trips);

/// For infer rules of ops with regions: throws ShapeError unless the op has this number of regions.
void check_num_regions(const OpNode& op, size_t expected);
/// Throws ShapeError unless region number `index` of the op has parameters of these types.
void check_parameters(const OpNode& op, size_t index, const std::vector<Type>& arguments);

/// Rules of ops that run their body, the first region, once. Their operands are its parameters.
///
/// Returns the types of the body's results. Throws ShapeError unless the body is the op's only
/// region and takes its operands.
std::vector<Type> infer_body(const OpNode& op);
/// Interprets the body.
void eval_body(const EvalOptions& options, const OpNode& op, std::span<const HostTensor* const> x,
               std::span<HostTensor> y);
/// Lowers the op to the ops of its body.
std::vector<HloValue> inline_body(const OpNode& op, HloBuilder& b, const std::vector<HloValue>& x);
/// The flow of the body, and how ops are emitted whose attributes do not depend on it.
BodyFlow flow_of_body(const OpNode& op);
Values emit_body(const OpNode& op, const BodyFlow& flow, Regions regions, const Values& operands);
/// Widens by the ops of the body in place of the op.
Widened widen_body(const OpNode& op, const Values& operands, const Regions& regions,
                   int64_t max_trips);
inline constexpr BodyRules kRunsBodyOnce{flow_of_body, emit_body, widen_body};

/// Sum the costs (CostRule) of the ops of the region. The body of a loop counts once for each
/// iteration.
double region_flops(const Region& region);
double region_bytes(const Region& region);
/// Costs of one run of the op's body.
double body_flops(const OpNode& op);
double body_bytes(const OpNode& op);

/// Returns the elements that are marked.
template <class T>
std::vector<T> selected(const std::vector<T>& elements, const std::vector<bool>& marks) {
  std::vector<T> out;
  for (size_t i = 0; i < marks.size(); ++i) {
    if (marks[i]) out.push_back(elements[i]);
  }
  return out;
}
/// Undoes selected(): puts `results` in order at the marked positions, empty tensors at the others.
Values spread_results(const Values& results, const std::vector<bool>& used);
/// Marks the parameters of `region` that its ops and results read.
std::vector<bool> needed_parameters(const Region& region);
/// Marks the parameters that these are computed from: marked results, all results after the last
/// mark, and ops with effects.
std::vector<bool> needed_parameters(const Region& region, std::vector<bool> results);

}  // namespace axle
