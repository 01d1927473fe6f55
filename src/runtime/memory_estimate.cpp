#include "runtime/memory_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/lists.h"
#include "base/text/text_table.h"
#include "ir/op_rules.h"
#include "ir/value_map.h"
#include "ops/annotate.h"
#include "transform/bodies.h"

namespace axle {
namespace {

// What is in memory at a peak, by where it was made.
using Origin = std::pair<const OpNode*, uint32_t>;
using Holdings = std::map<Origin, double>;  // bytes on one device

struct HeldAtPeak {
  double bytes = 0;
  Holdings held;
};

// Follows one region. Divisors say over how many devices each value is divided. Values `in_place`
// are written over arguments of the program.
class RegionMemory {
 public:
  RegionMemory(const Region& region, const Mesh& mesh, const std::vector<double>& of_parameters,
               const Values& in_place = {})
      : region_(region), mesh_(mesh) {
    for (const Tensor& t : in_place) is_in_place_[t] = true;
    for (size_t i = 0; i < of_parameters.size(); ++i)
      divisors_[region.parameters()[i]] = of_parameters[i];
    for (const OpNode* op : region.ops()) {
      for (const Tensor& t : op->inputs) note_use(t, op);
    }
    for (const Tensor& t : region.results()) is_result_[t] = true;
    for (const OpNode* op : Reversed(region.ops())) lengthen_operands(*op);
    for (const OpNode* op : region.ops()) {
      for (const Tensor& t : op->results()) {
        if (const OpNode* const* last = last_use_.find(t)) ending_at_[*last].push_back(t);
      }
    }
  }

  HeldAtPeak run() {
    for (const OpNode* op : region_.ops()) step(*op);
    return peak_;
  }
  std::vector<double> divisors_of_results() {
    std::vector<double> out;
    for (const Tensor& t : region_.results()) out.push_back(divisor(t));
    return out;
  }

 private:
  void note_use(const Tensor& t, const OpNode* op) {
    last_use_[t] = op;
    const bool is_kept_for_backward =
        op->phase == Phase::kBackward && t.node() && t.node()->phase == Phase::kForward;
    if (is_stored_for(*op) || is_kept_for_backward) is_read_whole_[t] = true;
  }
  // What is not stored is made again from its operands: they live as long as it does.
  void lengthen_operands(const OpNode& op) {
    if (!is_view(op)) return;
    const Tensor result = op.results()[0];
    const bool lives_on = is_result_.contains(result);
    const OpNode* const* last = last_use_.find(result);
    for (const Tensor& t : op.inputs) {
      if (lives_on) is_result_[t] = true;
      if (last && (*last)->id > (*last_use_.find(t))->id) last_use_[t] = *last;
      if (is_read_whole_.contains(result)) is_read_whole_[t] = true;
    }
  }
  // True for ops that read and write memory: others are computed where their results are needed.
  static bool is_stored_for(const OpNode& op) {
    return op.rules->row().traits.is_product || !op.regions.empty();
  }
  // True for ops that make nothing of their own: the value is another view of their operand.
  static bool is_view(const OpNode& op) {
    return op.rules->row().traits.cheap || constraint_of(op) != nullptr;
  }

  double divisor(const Tensor& t) const {
    const double* const found = divisors_.find(t);
    return found ? *found : 1;
  }
  // The largest divisor of an operand that has at least half of the elements; a constant has none
  // of its own and is never stored.
  double divisor_of_result(const OpNode& op, uint32_t i) const {
    if (const PartitionSpec* spec = constraint_of(op))
      return static_cast<double>(num_parts(restrict(*spec, op.outputs[i].dims, mesh_), mesh_));
    double out = 0, any = 1;
    for (const Tensor& t : op.inputs) {
      any = std::max(any, divisor(t));
      if (2 * t.type().num_elements() >= op.outputs[i].num_elements())
        out = std::max(out, divisor(t));
    }
    return out > 0 ? out : any;
  }

  void step(const OpNode& op) {
    const Values results = op.results();
    HeldAtPeak inside;
    std::vector<double> of_results(results.size());
    for (uint32_t i = 0; i < results.size(); ++i) of_results[i] = divisor_of_result(op, i);
    if (!op.regions.empty()) inside = peak_of_bodies(op, of_results);
    for (uint32_t i = 0; i < results.size(); ++i) {
      divisors_[results[i]] = of_results[i];
      const bool is_used = last_use_.contains(results[i]) || is_result_.contains(results[i]);
      const bool is_stored = !op.inputs.empty() && !is_view(op) && is_used &&
                             !is_in_place_.contains(results[i]) &&
                             (is_stored_for(op) || is_read_whole_.contains(results[i]));
      if (is_stored) {
        const double bytes =
            static_cast<double>(op.outputs[i].num_bytes()) / std::max(of_results[i], 1.0);
        held_[{&op, i}] = bytes;
        held_bytes_ += bytes;
      }
    }
    const double now = held_bytes_ + inside.bytes;
    if (now > peak_.bytes) {
      peak_.bytes = now;
      peak_.held = held_;
      peak_.held.insert(inside.held.begin(), inside.held.end());
    }
    for (const Tensor& t : ending_at_[&op]) release(t);
  }

  void release(const Tensor& t) {
    if (is_result_.contains(t)) return;
    const auto held = held_.find({t.node(), t.index()});
    if (held == held_.end()) return;
    held_bytes_ -= held->second;
    held_.erase(held);
  }

  // The largest peak of the bodies. Values that flow in and out are divided as they are outside; a
  // part of a value for one device is not divided further.
  HeldAtPeak peak_of_bodies(const OpNode& op, std::vector<double>& of_results) {
    const BodyFlow flow = flow_of(op);
    HeldAtPeak most;
    for (size_t r = 0; r < op.regions.size(); ++r) {
      const auto& [parameters, results, trips] = flow.regions[r];
      std::vector<double> of_parameters;
      for (const Port& port : parameters)
        of_parameters.push_back(port.flow == Flow::kPart ? 1 : divisor(op.inputs[port.at]));
      RegionMemory inner(op.region(r), mesh_, of_parameters);
      HeldAtPeak peak = inner.run();
      const std::vector<double> inside = inner.divisors_of_results();
      for (size_t i = 0; i < results.size(); ++i) {
        double& outside = of_results[results[i].at];
        outside = std::max(outside, inside[i]);
      }
      if (peak.bytes > most.bytes) most = std::move(peak);
    }
    return most;
  }

  const Region& region_;
  const Mesh& mesh_;
  ValueMap<double> divisors_;
  ValueMap<const OpNode*> last_use_;
  std::map<const OpNode*, Values> ending_at_;
  ValueMap<bool> is_read_whole_, is_result_, is_in_place_;
  Holdings held_;
  double held_bytes_ = 0;
  HeldAtPeak peak_;
};

std::vector<TemporaryBuffer> buffers_of(const Holdings& held) {
  std::map<std::string, TemporaryBuffer> by_place;
  for (const auto& [origin, bytes] : held) {
    const auto& [op, index] = origin;
    const std::string layer = op->scope ? *op->scope : "";
    // The whole shape, and over how many devices it is divided: "bf16[32,2048,4096]/8".
    std::string shape = to_text(op->outputs[index]);
    std::erase(shape, ' ');
    const auto parts =
        std::llround(static_cast<double>(op->outputs[index].num_bytes()) / std::max(bytes, 1.0));
    if (parts > 1) shape += "/" + std::to_string(parts);
    const bool is_backward = op->phase == Phase::kBackward;
    TemporaryBuffer& one = by_place[layer + "\n" + std::string(op->rules->name()) + "\n" + shape +
                                    (is_backward ? "b" : "f")];
    one.layer = layer;
    one.op = op->rules->name();
    one.backward = is_backward;
    one.shape = shape;
    ++one.count;
    one.bytes += std::llround(bytes);
  }
  std::vector<TemporaryBuffer> out;
  for (auto& [place, one] : by_place) out.push_back(std::move(one));
  std::ranges::stable_sort(out, std::greater<>(), &TemporaryBuffer::bytes);
  return out;
}

}  // namespace

MemoryEstimate estimate_memory(const Program& program) {
  MemoryEstimate out;
  std::vector<double> divisors;
  Values in_place;
  for (const ProgramValue& input : program.inputs) {
    if (input.donated_to >= 0) in_place.push_back(program.graph->results()[input.donated_to]);
    const PartitionSpec spec = restrict(input.sharding, input.type.dims, program.mesh);
    divisors.push_back(static_cast<double>(num_parts(spec, program.mesh)));
    out.argument_bytes += static_cast<double>(input.type.num_bytes()) / divisors.back();
  }
  const HeldAtPeak peak = RegionMemory(*program.graph, program.mesh, divisors, in_place).run();
  out.temporary_bytes = peak.bytes;
  out.largest = buffers_of(peak.held);
  return out;
}

namespace {

// Returns "f32[2000,4,256,256] of model.decoder.layers.layer0.attention.body.core 2.0 GiB".
std::string item_text(const TemporaryBuffer& item) {
  std::string layer = item.layer;
  std::ranges::replace(layer, '/', '.');
  return fmt::format("{}{}{} {}", item.count > 1 ? fmt::format("{} ", item.count) : "", item.shape,
                     layer.empty() ? "" : " of " + layer,
                     bytes_text(static_cast<double>(item.bytes)));
}

}  // namespace

bool is_host(std::string_view platform) { return platform == "cpu" || platform == "interpreter"; }

int64_t bytes_on_devices(const ProgramValue& value, const Mesh& mesh) {
  const int64_t parts = num_parts(restrict(value.sharding, value.type.dims, mesh), mesh);
  const auto bytes = static_cast<int64_t>(value.type.num_bytes());
  return saturating_product(bytes, mesh.num_devices() / parts);
}

std::vector<HostNeed> state_needs(std::span<const ProgramValue> state, const Mesh& mesh,
                                  std::string_view platform) {
  HostNeed parameters{"parameters"}, others{"state of the learner"},
      copy{"a copy of the state while a checkpoint is saved"};
  int64_t largest = 0;
  for (const ProgramValue& leaf : state) {
    const bool is_parameter = leaf.name.starts_with("model/");
    HostNeed& need = is_parameter ? parameters : others;
    const int64_t bytes = bytes_on_devices(leaf, mesh);
    need.bytes = saturating_sum(need.bytes, bytes);
    if (is_parameter && bytes > largest) {
      largest = bytes;
      need.largest = leaf.name + " " + bytes_text(bytes);
      std::ranges::replace(need.largest, '/', '.');
    }
    copy.bytes = saturating_sum(copy.bytes, static_cast<int64_t>(leaf.type.num_bytes()));
  }
  if (!is_host(platform)) return {copy};
  return {parameters, others, copy};
}

void check_state_memory(std::span<const ProgramValue> state, std::string_view platform,
                        const HostMemory& memory) {
  check_host_memory(state_needs(state, {}, platform), memory, kStateTooLarge);
}

std::vector<HostNeed> estimated_needs(std::span<const TracedProgram> programs,
                                      std::string_view platform) {
  std::vector<HostNeed> out;
  if (!is_host(platform)) return out;
  double most = 0;
  for (const auto& [name, program] : programs) {
    const MemoryEstimate estimate = estimate_memory(*program);
    constexpr double kMax = 1e18;
    const double bytes =
        std::min(estimate.temporary_bytes * static_cast<double>(program->mesh.num_devices()), kMax);
    if (bytes <= most) continue;
    most = bytes;
    HostNeed need{"at least the temporaries of " + name, static_cast<int64_t>(bytes)};
    if (!estimate.largest.empty()) need.largest = item_text(estimate.largest.front());
    out = {std::move(need)};
  }
  return out;
}

std::vector<HostNeed> program_needs(std::span<const NamedProgram> programs, int64_t num_devices,
                                    std::string_view platform) {
  std::vector<HostNeed> most;
  int64_t most_bytes = -1;
  for (const auto& [name, program] : programs) {
    const auto stats = program->memory();
    if (!is_host(platform) || !stats) continue;
    const int64_t temporaries = saturating_product(stats->temporary_bytes, num_devices);
    const int64_t rest = saturating_product(
        stats->output_bytes - stats->alias_bytes + stats->code_bytes, num_devices);
    const int64_t bytes = saturating_sum(temporaries, rest);
    if (bytes <= most_bytes) continue;
    most_bytes = bytes;
    most = {{"temporaries of " + name, temporaries}, {"its results and its code", rest}};
  }
  return most;
}

void check_program_memory(const NamedProgram& program, int64_t num_devices,
                          std::string_view platform) {
  check_host_memory(program_needs(std::span(&program, 1), num_devices, platform), host_memory());
}

}  // namespace axle
