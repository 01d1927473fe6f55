#include "hlo/collectives.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <vector>

#include "base/lists.h"
#include "hlo/op_name.h"
#include "hlo/uses.h"
#include "hlo/value_origins.h"
#include "ir/devices/mesh.h"

namespace axle {
namespace {

int64_t fast_group(const std::vector<int64_t>& fast_groups, int64_t position) {
  const auto i = static_cast<size_t>(position);
  return i < fast_groups.size() ? fast_groups[i] : 0;
}

WireBytes of_group(std::string_view kind, double bytes, const std::vector<int64_t>& group,
                   const std::vector<int64_t>& fast_groups) {
  std::map<int64_t, int64_t> members;
  for (const int64_t position : group) ++members[fast_group(fast_groups, position)];
  int64_t fewest = 0;  // of the devices in one fast group: with fewer devices each sends more
  for (const auto& [number, count] : members)
    fewest = fewest == 0 ? count : std::min(fewest, count);
  const double all = static_cast<double>(group.size()), parts = static_cast<double>(members.size()),
               within = static_cast<double>(fewest);
  if (kind == "all-to-all" || kind == "ragged-all-to-all")
    return {.fast = bytes * (within - 1) / all, .slow = bytes * (all - within) / all};
  if (kind == "all-reduce") bytes *= 2;
  return {.fast = bytes * (within - 1) / within, .slow = bytes * (parts - 1) / parts / within};
}

}  // namespace

WireBytes wire_bytes(std::string_view kind, int64_t bytes, const ReplicaGroups& groups,
                     const std::vector<int64_t>& fast_groups) {
  WireBytes most;
  for (const auto& group : groups) {
    if (group.size() < 2) continue;
    const WireBytes one = of_group(kind, static_cast<double>(bytes), group, fast_groups);
    most = {std::max(most.fast, one.fast), std::max(most.slow, one.slow)};
  }
  return most;
}

WireBytes wire_bytes(int64_t bytes, const SourceTargets& pairs,
                     const std::vector<int64_t>& fast_groups) {
  WireBytes out;
  for (const auto& [from, to] : pairs) {
    if (from == to) continue;
    const bool fast = fast_group(fast_groups, from) == fast_group(fast_groups, to);
    (fast ? out.fast : out.slow) = static_cast<double>(bytes);
  }
  return out;
}

namespace {

// How a computation is reached. Runs with equal contexts are counted together.
struct Context {
  std::string op_name = {};  // of the nearest caller that has an op_name
  bool backward = false, is_lower_bound = false, in_loop = false, is_async = false;
  auto operator<=>(const Context&) const = default;
};
using Runs = std::map<Context, int64_t>;

class Reader {
 public:
  Reader(const HloModule& module, const Mesh& mesh, const std::vector<int64_t>& fast_groups)
      : module_(module),
        mesh_(mesh),
        fast_groups_(fast_groups),
        origins_(module),
        uses_(module, origins_),
        communicates_(communicating_computations(module)),
        enclosing_(module.computations.size()),
        runs_(module.computations.size()),
        found_(module.computations.size()) {
    runs_[module.entry].emplace(Context{}, 1);
  }

  std::vector<Collective> read() {
    // Callers come after callees. Going backwards, all runs of a computation are known when the
    // loop reaches it.
    for (size_t c = module_.computations.size(); c-- > 0;) {
      if (!communicates_[c] || runs_[c].empty()) continue;
      for (size_t i = 0; i < module_.computations[c].instructions.size(); ++i) {
        const HloInstruction& instruction = module_.computations[c].instructions[i];
        if (!collective_kind(instruction.opcode).empty())
          append(c, i);
        else if (runs_called_computations(instruction))
          enter(c, i);
      }
    }
    std::vector<Collective> out;
    for (auto& some : found_) std::ranges::move(some, std::back_inserter(out));
    drop_lone_permutes(out);
    return out;
  }

 private:
  static Context inside(const Context& around, const HloInstruction& instruction) {
    Context out = around;
    if (!instruction.op_name.empty()) out.op_name = instruction.op_name;
    out.backward |= std::ranges::any_of(op_locations(instruction.op_name), &OpLocation::backward);
    return out;
  }

  void enter(size_t c, size_t i) {
    const HloInstruction& instruction = module_.computations[c].instructions[i];
    int64_t times = 1;
    bool is_lower_bound = false;
    if (instruction.opcode == "while") {
      const auto trips = origins_.trip_count(c, i);
      times = trips.value_or(1);
      is_lower_bound = !trips;
    }
    for (const size_t callee : instruction.called) {
      if (!communicates_[callee]) continue;
      const bool is_fusion = module_.computations[callee].is_fusion;
      enclosing_[callee] = !is_fusion                          ? callee
                           : module_.computations[c].is_fusion ? enclosing_[c]
                                                               : c;
      for (const auto& [around, runs] : runs_[c]) {
        Context context = inside(around, instruction);
        context.is_lower_bound |= is_lower_bound;
        context.in_loop |= instruction.opcode == "while";
        context.is_async |= instruction.opcode == "async-start";
        int64_t& total = runs_[callee][context];
        total = saturating_sum(total, saturating_product(runs, times));
      }
    }
  }

  // Returns the kind that the compiler has implemented by a collective of another kind; else empty.
  std::string find_implemented_kind(const Collective& one, size_t c, size_t i) {
    const HloComputation& computation = module_.computations[c];
    const HloInstruction& instruction = computation.instructions[i];
    if (one.kind == "collective-permute")
      return origins_.permuted_argument(c, instruction.operands.at(0)) ? "all-gather" : "";
    if (one.kind != "all-reduce") return {};
    // An all-reduce does an all-gather if each device writes its part into zeros before the sum,
    // and a reduce-scatter if each device keeps only its part of the sum. A merged all-reduce
    // counts as what most of its elements are.
    int64_t all = 0, gathered = 0;
    for (const size_t operand : instruction.operands) {
      const int64_t elements = computation.instructions[operand].shape.num_elements();
      const bool has_part =
          origins_.argument(c, operand) && origins_.part_elements(c, operand) < elements;
      all = saturating_sum(all, elements);
      if (has_part || origins_.elements_set_into_zeros(c, operand) > 0)
        gathered = saturating_sum(gathered, elements);
    }
    if (gathered > all / 2) return "all-gather";
    return uses_.sliced_elements(c, i) > all / 2 ? "reduce-scatter" : "";
  }

  // Returns the number of devices in the ring of pairs that starts at the first pair.
  static int64_t ring_size(const SourceTargets& pairs) {
    const int64_t first = pairs[0].first;
    int64_t out = 1;
    for (int64_t at = pairs[0].second; at != first; ++out) {
      const auto next = std::ranges::find(pairs, at, &std::pair<int64_t, int64_t>::first);
      if (next == pairs.end() || out > std::ssize(pairs)) break;
      at = next->second;
    }
    return out;
  }

  // A chain of permutes is a gather only if it moves the parts around the whole ring. Permutes that
  // pass an argument on just once or twice are plain moves, so their implemented_kind is cleared.
  static void drop_lone_permutes(std::vector<Collective>& all) {
    std::map<std::pair<bool, int64_t>, double> times;
    const auto is_hop = [](const Collective& c) {
      return c.kind == "collective-permute" && !c.implemented_kind.empty();
    };
    for (const Collective& c : all) {
      if (is_hop(c)) times[{c.backward, c.arguments[0]}] += c.argument_share[0];
    }
    for (Collective& c : all) {
      if (is_hop(c) && times[{c.backward, c.arguments[0]}] < 0.5) {
        c.implemented_kind.clear();
        c.argument_share = {0};
      }
    }
  }

  // Returns Collective::argument_share of operand n.
  double share_of(size_t c, const HloInstruction& instruction, size_t n, int64_t runs) const {
    if (!instruction.source_targets.empty()) {
      const auto passed = origins_.permuted_argument(c, instruction.operands[n]);
      const double others = static_cast<double>(ring_size(instruction.source_targets) - 1);
      if (!passed || passed->elements <= 0 || others < 1) return 0;
      return static_cast<double>(module_.computations[c]
                                     .instructions[instruction.operands[n]]
                                     .shape.num_elements()) *
             static_cast<double>(runs) / static_cast<double>(passed->elements) / others;
    }
    const auto whole = origins_.argument_elements(c, instruction.operands[n]);
    if (!whole || *whole <= 0) return 0;
    return static_cast<double>(origins_.part_elements(c, instruction.operands[n])) *
           static_cast<double>(runs) / static_cast<double>(*whole);
  }

  // Returns the locations of a collective. With several operands these are the locations of each
  // operand, because the instruction's own name is that of one operand or of the loop around it.
  std::vector<OpLocation> all_locations(size_t c, const HloInstruction& instruction,
                                        const std::string& op_name) const {
    const std::vector<OpLocation> own = op_locations(op_name);
    std::vector<OpLocation> out;
    std::ranges::copy_if(own, std::back_inserter(out),
                         [](const OpLocation& location) { return !is_loop_or_barrier(location); });
    if (instruction.operands.size() < 2 && !out.empty()) return out;
    for (const size_t operand : instruction.operands) {
      if (origins_.argument(c, operand)) continue;
      for (OpLocation& location : op_locations(origins_.op_name({c, operand}))) {
        if (!location.layer.empty() && std::ranges::find(out, location) == out.end())
          out.push_back(std::move(location));
      }
    }
    return out.empty() ? own : out;
  }

  // True for a reduce-scatter on TPU, which is an all-reduce fused with the slice that each device
  // keeps.
  bool keeps_a_slice(const HloComputation& computation, size_t i) const {
    return computation.is_fusion &&
           std::ranges::any_of(computation.instructions, [&](const HloInstruction& user) {
             return user.opcode == "dynamic-slice" && !user.operands.empty() &&
                    user.operands[0] == i;
           });
  }

  ReplicaGroups groups_of(const HloInstruction& instruction, std::string_view kind) const {
    // With a channel but without global device ids, the groups hold replicas and stand for all
    // partitions of each. We have one replica, so the group is all devices.
    const bool replicas =
        instruction.channel_id > 0 && !instruction.use_global_device_ids &&
        (kind == "all-gather" || kind == "all-reduce" || kind == "reduce-scatter");
    if (!instruction.groups.empty() && !replicas) return instruction.groups;
    std::vector<int64_t> all(static_cast<size_t>(mesh_.num_devices()));
    std::iota(all.begin(), all.end(), 0);
    return {all};
  }

  // The shape of an asynchronous start is a tuple of the operands, the results and more, except for
  // all-reduce-start, whose shape is that of the result.
  static const HloShape& result_of(const HloInstruction& instruction) {
    const HloShape& shape = instruction.shape;
    const bool start = instruction.opcode.ends_with("-start") &&
                       instruction.opcode != "all-reduce-start" && shape.elements.size() > 1;
    return start ? shape.elements[1] : shape;
  }

  int64_t bytes_of(const HloComputation& computation, const HloInstruction& instruction) const {
    int64_t operands = 0;
    for (const size_t operand : instruction.operands)
      operands = saturating_sum(operands, computation.instructions[operand].shape.num_bytes());
    return std::max(operands, result_of(instruction).num_bytes());
  }

  // True if the instruction belongs to a collective that was counted in another fusion already. On
  // TPU an asynchronous collective is spread over several fusions, which all contain it; only in
  // the first may its operand be an argument. The arguments of the counted one are updated.
  bool is_counted(size_t c, const HloInstruction& instruction,
                  const std::vector<int64_t>& arguments) {
    if (!module_.computations[c].is_fusion || instruction.channel_id <= 0) return false;
    const auto [named, is_new] =
        named_.try_emplace({enclosing_[c], instruction.channel_id}, c, found_[c].size());
    const auto [owner, begin] = named->second;
    if (owner == c) return false;
    for (size_t i = begin; i < begin + runs_[owner].size(); ++i) {
      std::vector<int64_t>& known = found_[owner][i].arguments;
      if (std::ranges::count(known, -1) > 0) known = arguments;
      found_[owner][i].waits = false;
    }
    return true;
  }

  void append(size_t c, size_t i) {
    const HloComputation& computation = module_.computations[c];
    const HloInstruction& instruction = computation.instructions[i];
    Collective one;
    one.kind = collective_kind(instruction.opcode);
    one.axes = instruction.source_targets.empty() ? axes_of(groups_of(instruction, one.kind), mesh_)
                                                  : axes_of(instruction.source_targets, mesh_);
    if (one.axes.empty()) return;  // nothing moves
    if (one.kind == "all-reduce" && keeps_a_slice(computation, i)) one.kind = "reduce-scatter";
    one.bytes = bytes_of(computation, instruction);
    for (const size_t operand : instruction.operands)
      one.arguments.push_back(origins_.argument(c, operand).value_or(-1));
    if (is_counted(c, instruction, one.arguments)) return;
    one.implemented_kind = find_implemented_kind(one, c, i);
    if (one.kind == "collective-permute" && !one.implemented_kind.empty())
      one.arguments = {origins_.permuted_argument(c, instruction.operands[0])->argument};
    one.wire = instruction.source_targets.empty()
                   ? wire_bytes(one.kind, one.bytes, groups_of(instruction, one.kind), fast_groups_)
                   : wire_bytes(one.bytes, instruction.source_targets, fast_groups_);
    const HloShape& result = result_of(instruction);
    if (result.elements.empty()) one.elements = {result.num_elements()};
    for (const HloShape& element : result.elements) one.elements.push_back(element.num_elements());
    for (const auto& [around, runs] : runs_[c]) {
      const Context context = inside(around, instruction);
      const std::vector<OpLocation> locations = all_locations(c, instruction, context.op_name);
      one.op_name = context.op_name;
      one.layer = layer_text(locations);
      one.op = op_text(locations);
      one.backward = context.backward;
      one.is_lower_bound = context.is_lower_bound;
      one.count = runs;
      one.in_loop = context.in_loop;
      one.waits = !context.is_async && !instruction.opcode.ends_with("-start");
      one.argument_share.clear();
      for (size_t n = 0; n < instruction.operands.size(); ++n)
        one.argument_share.push_back(share_of(c, instruction, n, runs));
      found_[c].push_back(one);
    }
  }

  const HloModule& module_;
  const Mesh& mesh_;
  const std::vector<int64_t>& fast_groups_;
  HloValueOrigins origins_;
  HloUses uses_;
  std::vector<bool> communicates_;  // the computation, or one that it calls, has a collective
  std::vector<size_t> enclosing_;   // for a fusion, the computation that contains it; else itself
  std::vector<Runs> runs_;
  std::vector<std::vector<Collective>> found_;
  // By enclosing computation and channel: the fusion in which the collective was first found, and
  // its position in found_.
  std::map<std::pair<size_t, int64_t>, std::pair<size_t, size_t>> named_;
};

}  // namespace

std::string_view collective_kind(std::string_view opcode) {
  constexpr std::string_view kStart = "-start";
  if (opcode.ends_with(kStart)) opcode.remove_suffix(kStart.size());
  static constexpr std::array kKinds = std::to_array<std::string_view>(
      {"all-gather", "all-reduce", "all-to-all", "collective-broadcast", "collective-permute",
       "ragged-all-to-all", "reduce-scatter"});
  const auto found = std::ranges::find(kKinds, opcode);
  return found == kKinds.end() ? std::string_view{} : *found;
}

std::vector<bool> communicating_computations(const HloModule& module) {
  std::vector<bool> out(module.computations.size());
  for (size_t c = 0; c < out.size(); ++c) {  // callees come before callers
    out[c] = std::ranges::any_of(module.computations[c].instructions, [&](const HloInstruction& i) {
      return !collective_kind(i.opcode).empty() ||
             std::ranges::any_of(i.called, [&](size_t callee) { return out[callee]; });
    });
  }
  return out;
}

std::vector<Collective> collectives(const HloModule& module, const Mesh& mesh,
                                    const std::vector<int64_t>& fast_groups) {
  return Reader(module, mesh, fast_groups).read();
}

std::vector<CollectiveRow> rows_of(const std::vector<Collective>& all) {
  const auto key = [](const CollectiveRow& r) {
    return std::tie(r.kind, r.axes, r.layer, r.op, r.backward, r.is_lower_bound, r.in_loop, r.waits,
                    r.implemented_kind, r.arguments);
  };
  std::vector<CollectiveRow> out;
  for (const Collective& c : all) {
    const std::set<int64_t> arguments(c.arguments.begin(), c.arguments.end());
    CollectiveRow next{.kind = c.kind,
                       .axes = c.axes,
                       .layer = c.layer,
                       .op = c.op,
                       .backward = c.backward,
                       .is_lower_bound = c.is_lower_bound,
                       .in_loop = c.in_loop,
                       .waits = c.waits,
                       .implemented_kind = c.implemented_kind,
                       .arguments = {arguments.begin(), arguments.end()}};
    auto row = std::ranges::find(out, key(next), key);
    if (row == out.end()) row = out.insert(row, std::move(next));
    row->count = saturating_sum(row->count, c.count);
    row->bytes = saturating_sum(row->bytes, saturating_product(c.count, c.bytes));
    row->wire.fast += static_cast<double>(c.count) * c.wire.fast;
    row->wire.slow += static_cast<double>(c.count) * c.wire.slow;
  }
  std::ranges::stable_sort(out, std::greater{}, &CollectiveRow::bytes);
  return out;
}

namespace {

struct Communicating {
  size_t instruction;
  bool by_call;
};

// Returns, for each instruction of the computation, which of `all` it depends on.
std::vector<std::vector<bool>> needs(const HloComputation& computation,
                                     const std::vector<Communicating>& all) {
  std::vector<std::vector<bool>> out(computation.instructions.size(),
                                     std::vector<bool>(all.size()));
  for (size_t i = 0; i < computation.instructions.size(); ++i) {
    for (const size_t operand : computation.instructions[i].operands) {
      for (size_t k = 0; k < all.size(); ++k) {
        if (out[operand][k] || all[k].instruction == operand) out[i][k] = true;
      }
    }
  }
  return out;
}

}  // namespace

std::optional<std::pair<std::string, std::string>> unordered_collectives(const HloModule& module) {
  const std::vector<bool> communicates = communicating_computations(module);
  for (size_t c = 0; c < module.computations.size(); ++c) {
    const auto& instructions = module.computations[c].instructions;
    std::vector<Communicating> all;
    for (size_t i = 0; i < instructions.size(); ++i) {
      const bool by_call = std::ranges::any_of(instructions[i].called,
                                               [&](size_t callee) { return communicates[callee]; });
      if (by_call || !collective_kind(instructions[i].opcode).empty()) all.push_back({i, by_call});
    }
    if (std::ranges::none_of(all, &Communicating::by_call)) continue;
    const auto needed = needs(module.computations[c], all);
    for (size_t later = 0; later < all.size(); ++later) {
      for (size_t k = 0; k < later; ++k) {
        if (!all[k].by_call && !all[later].by_call) continue;
        if (!needed[all[later].instruction][k])
          return std::pair(instructions[all[k].instruction].name,
                           instructions[all[later].instruction].name);
      }
    }
  }
  return std::nullopt;
}

}  // namespace axle
