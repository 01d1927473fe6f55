#include "plan/compiler_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

#include "base/text/text.h"
#include "base/text/text_table.h"
#include "hlo/op_name.h"
#include "ir/op_rules.h"
#include "ops/annotate.h"

namespace axle {
namespace {

// The number of gathers from which an argument counts as gathered repeatedly. It is more than 1,
// because a gather in parts or with padding may count as slightly more than one.
constexpr double kMoreThanOnce = 1.25;

bool gathers(const Collective& c) {
  return c.kind == "all-gather" || c.implemented_kind == "all-gather";
}

std::string name_of(const std::vector<std::string>& arguments, int64_t number) {
  const auto i = static_cast<size_t>(number);
  return i < arguments.size() ? arguments[i] : fmt::format("argument {}", number);
}

// Lists the first names and the number of the others.
std::string list_text(const std::vector<std::string>& names) {
  constexpr size_t kShown = 6;
  std::vector<std::string> shown = names;
  if (names.size() > kShown) {
    shown.resize(kShown);
    shown.push_back(fmt::format("{} more", names.size() - kShown));
  }
  return join(shown, ", ");
}

void add_repeated_gathers(const std::vector<Collective>& all,
                          const std::vector<std::string>& arguments, std::vector<Finding>& out) {
  struct Sum {
    double bytes = 0, needed = 0, most = 0;
    std::set<std::string> names;
  };
  std::array<Sum, 2> sums;  // by pass
  for (const ArgumentGathers& one : argument_gathers(all)) {
    if (one.times < kMoreThanOnce) continue;
    Sum& sum = sums[one.backward];
    sum.bytes += one.bytes;
    sum.needed += one.bytes / one.times;
    sum.most = std::max(sum.most, one.times);
    sum.names.insert(name_of(arguments, one.argument));
  }
  for (const bool backward : {false, true}) {
    const Sum& sum = sums[backward];
    if (sum.names.empty()) continue;
    out.push_back({.kind = FindingKind::kRepeatedGathers,
                   .backward = backward,
                   .count = sum.most,
                   .bytes = sum.bytes,
                   .needed_bytes = sum.needed,
                   .names = {sum.names.begin(), sum.names.end()}});
  }
}

void add_all_reduces(const std::vector<Collective>& all, const std::vector<std::string>& arguments,
                     std::vector<Finding>& out) {
  for (const std::string kind : {"all-gather", "reduce-scatter"}) {
    int64_t count = 0;
    double bytes = 0;
    std::set<std::string> names;
    for (const Collective& c : all) {
      if (c.implemented_kind != kind || c.kind != "all-reduce") continue;
      count += c.count;
      bytes += static_cast<double>(c.count) * static_cast<double>(c.bytes);
      if (kind == "reduce-scatter" && !c.layer.empty()) names.insert(c.layer);
      for (const int64_t argument : c.arguments) {
        if (argument >= 0) names.insert(name_of(arguments, argument));
      }
    }
    if (count == 0) continue;
    out.push_back({.kind = FindingKind::kAllReduces,
                   .collective = kind,
                   .count = static_cast<double>(count),
                   .bytes = bytes,
                   .names = {names.begin(), names.end()}});
  }
}

void add_permutes(const std::vector<Collective>& all, const std::vector<std::string>& arguments,
                  std::vector<Finding>& out) {
  int64_t count = 0;
  double bytes = 0;
  std::set<std::string> names;
  for (const Collective& c : all) {
    if (c.kind != "collective-permute" || c.implemented_kind != "all-gather") continue;
    count += c.count;
    bytes += static_cast<double>(c.count) * static_cast<double>(c.bytes);
    for (const int64_t argument : c.arguments) names.insert(name_of(arguments, argument));
  }
  if (count == 0) return;
  out.push_back({.kind = FindingKind::kPermutes,
                 .count = static_cast<double>(count),
                 .bytes = bytes,
                 .names = {names.begin(), names.end()}});
}

void add_waiting(const std::vector<Collective>& all, std::vector<Finding>& out) {
  struct Sum {
    int64_t count = 0;
    double bytes = 0;
  };
  std::map<std::string, Sum> by_kind;
  for (const Collective& c : all) {
    if (!c.in_loop || !c.waits) continue;
    by_kind[c.kind].count += c.count;
    by_kind[c.kind].bytes += static_cast<double>(c.count) * static_cast<double>(c.bytes);
  }
  if (by_kind.empty()) return;
  Finding found{.kind = FindingKind::kWaiting};
  for (const auto& [kind, sum] : by_kind) {
    found.count += static_cast<double>(sum.count);
    found.bytes += sum.bytes;
    found.names.push_back(
        fmt::format("{} {} ({})", grouped_digits(sum.count), kind, bytes_text(sum.bytes)));
  }
  out.push_back(std::move(found));
}

void add_rematerialised(const HloModule& module, std::vector<Finding>& out) {
  std::map<std::string, int64_t> by_opcode;
  int64_t count = 0;
  for (const HloComputation& computation : module.computations) {
    if (computation.is_fusion) continue;
    for (const HloInstruction& instruction : computation.instructions) {
      const bool moves_nothing =
          instruction.opcode == "bitcast" || instruction.opcode == "get-tuple-element";
      if (moves_nothing || instruction.name.find(".remat") == std::string::npos) continue;
      ++by_opcode[instruction.opcode];
      ++count;
    }
  }
  if (count == 0) return;
  Finding found{.kind = FindingKind::kRecomputed, .count = static_cast<double>(count)};
  for (const auto& [opcode, n] : by_opcode) found.names.push_back(fmt::format("{} {}", n, opcode));
  out.push_back(std::move(found));
}

}  // namespace

const char* pass_text(bool backward) { return backward ? "backward" : "forward"; }

std::vector<ArgumentGathers> argument_gathers(const std::vector<Collective>& all) {
  std::map<std::pair<bool, int64_t>, ArgumentGathers> sums;
  for (const Collective& c : all) {
    if (!gathers(c)) continue;
    double total = 0;
    for (const int64_t elements : c.elements) total += static_cast<double>(elements);
    for (size_t i = 0; i < c.arguments.size() && i < c.argument_share.size(); ++i) {
      if (c.arguments[i] < 0 || c.argument_share[i] == 0) continue;
      ArgumentGathers& sum = sums[{c.backward, c.arguments[i]}];
      sum.argument = c.arguments[i];
      sum.backward = c.backward;
      sum.times += c.argument_share[i];
      const double own = i < c.elements.size() ? static_cast<double>(c.elements[i]) : total;
      sum.bytes += static_cast<double>(c.count) * static_cast<double>(c.bytes) *
                   (total > 0 ? own / total : 1);
    }
  }
  std::vector<ArgumentGathers> out;
  for (auto& [key, sum] : sums) out.push_back(sum);
  return out;
}

bool Finding::is_like(const Finding& other) const {
  return kind == other.kind && text == other.text && backward == other.backward &&
         collective == other.collective;
}

double Finding::amount() const {
  return kind == FindingKind::kRepeatedGathers ? bytes - needed_bytes : count;
}

std::string to_text(const Finding& f) {
  const std::string count = grouped_digits(std::llround(f.count));
  switch (f.kind) {
    case FindingKind::kNote:
      return f.text;
    case FindingKind::kRepeatedGathers:
      return fmt::format(
          "the {} pass gathers parameters up to {:.3g} times: {} per device, {} would be enough "
          "({})",
          pass_text(f.backward), f.count, bytes_text(f.bytes), bytes_text(f.needed_bytes),
          list_text(f.names));
    case FindingKind::kAllReduces:
      return fmt::format(
          "{} {}s are implemented by all-reduces, which send twice as much: {} per device ({})",
          count, f.collective, bytes_text(f.bytes), list_text(f.names));
    case FindingKind::kPermutes:
      return fmt::format(
          "{} collective-permutes pass parameters from device to device instead of all-gathers: {} "
          "per device ({})",
          count, bytes_text(f.bytes), list_text(f.names));
    case FindingKind::kWaiting:
      return fmt::format("no computation overlaps these collectives in loops: {}",
                         join(f.names, ", "));
    case FindingKind::kMoves:
      return fmt::format("{}: {} per device ({})", short_text(f), bytes_text(f.bytes),
                         list_text(f.names));
    case FindingKind::kRecomputed:
      return fmt::format("the compiler recomputes {} instruction{} because memory is short: {}",
                         std::llround(f.count), f.count == 1 ? "" : "s", join(f.names, ", "));
  }
  return f.text;
}

std::vector<std::string> to_texts(const std::vector<Finding>& findings) {
  std::vector<std::string> out;
  for (const Finding& finding : findings) out.push_back(to_text(finding));
  return out;
}

std::string short_text(const Finding& f) {
  const std::string count = grouped_digits(std::llround(f.count));
  const char* const s = std::llround(f.count) == 1 ? "" : "s";
  switch (f.kind) {
    case FindingKind::kNote:
      return f.text;
    case FindingKind::kRepeatedGathers:
      return fmt::format("{} that the {} pass gathers again", bytes_text(f.amount()),
                         pass_text(f.backward));
    case FindingKind::kAllReduces:
      return std::llround(f.count) == 1
                 ? fmt::format("1 {} that is an all-reduce", f.collective)
                 : fmt::format("{} {}s that are all-reduces", count, f.collective);
    case FindingKind::kPermutes:
      return fmt::format("{} collective-permute{} in place of all-gathers", count, s);
    case FindingKind::kWaiting:
      return fmt::format("{} collective{} that nothing overlaps", count, s);
    case FindingKind::kMoves:
      return fmt::format("{} collective{} that move{} values although nothing asks for it", count,
                         s, *s ? "" : "s");
    case FindingKind::kRecomputed:
      return fmt::format("{} instruction{} that the compiler computes again", count, s);
  }
  return f.text;
}

std::vector<Finding> compiler_findings(const HloModule& module, const std::vector<Collective>& all,
                                       const std::vector<std::string>& arguments) {
  std::vector<Finding> out;
  add_repeated_gathers(all, arguments, out);
  add_all_reduces(all, arguments, out);
  add_permutes(all, arguments, out);
  add_waiting(all, out);
  add_rematerialised(module, out);
  return out;
}

namespace {

// The numbers of elements that one device holds of values with the layouts of constraints.
using Sizes = std::set<int64_t>;

int64_t elements_on_a_device(const Type& type, const PartitionSpec& spec, const Mesh& mesh) {
  return type.num_elements() / num_parts(restrict(spec, type.dims, mesh), mesh);
}

// The layouts that the graph asks for, by layer and op. The partitioner may fulfil a constraint at
// the constraint itself, at the op that makes the value, at an op that uses it, or further along a
// chain of shape-preserving ops, because a layout spreads over elementwise ops.
class Requests {
 public:
  Requests(const Region& graph, const Mesh& mesh) : mesh_(mesh) { add(graph); }

  bool ask_for(const std::vector<OpLocation>& locations, int64_t elements) const {
    return std::ranges::any_of(locations, [&](const OpLocation& location) {
      const auto found = at_.find({location.layer, location.op});
      return found != at_.end() && found->second.contains(elements);
    });
  }

 private:
  using ByOp = std::unordered_map<const OpNode*, Sizes>;

  static bool keeps_shape(const OpNode* op, const Tensor& input) {
    if (op->outputs.size() != 1 || !op->regions.empty()) return false;
    const std::string_view name = op->rules->name();
    if (name == "transpose" || name == "reshape") return true;
    return op->outputs[0].dims == input.shape();
  }

  void add(const Region& region) {
    ByOp sizes;
    const auto& ops = region.ops();
    for (const OpNode* op : ops) {
      const PartitionSpec* spec = constraint_of(*op);
      if (spec) sizes[op].insert(elements_on_a_device(op->outputs[0], *spec, mesh_));
    }
    // A layout spreads from a value backwards to its producers and forwards to its users. The two
    // directions are followed separately: together they would reach all other users of the value's
    // inputs.
    ByOp wanted = sizes, carried = sizes, used;
    for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
      const Sizes& from = constraint_of(**op) ? sizes[*op] : wanted[*op];
      for (const Tensor& input : (*op)->inputs) {
        if (keeps_shape(*op, input)) wanted[input.node()].insert(from.begin(), from.end());
      }
    }
    for (const OpNode* op : ops) {
      for (const Tensor& input : op->inputs) {
        const Sizes& from = carried[input.node()];
        used[op].insert(from.begin(), from.end());
        if (keeps_shape(op, input) && !constraint_of(*op))
          carried[op].insert(from.begin(), from.end());
      }
    }
    for (const OpNode* op : ops) {
      if (op->scope) {
        Sizes& all = at_[{*op->scope, std::string(op->rules->name())}];
        for (ByOp* some : {&wanted, &used}) all.insert((*some)[op].begin(), (*some)[op].end());
      }
      for (const auto& inner : op->regions) add(*inner);
    }
  }

  const Mesh& mesh_;
  std::map<std::pair<std::string, std::string>, Sizes> at_;  // by layer and op
};

bool is_over_stages(const Collective& c) {
  return c.axes.size() == 1 && (c.axes[0] == "pipeline" || c.axes[0].ends_with(":pipeline"));
}

// True if a layer itself moves the values, as the ops of ops/collectives do.
bool is_written(const std::vector<OpLocation>& locations) {
  static const std::set<std::string> ops = {"all_gather", "all_to_all",        "ppermute",
                                            "psum",       "ragged_all_to_all", "reduce_scatter"};
  return std::ranges::any_of(locations, [](const OpLocation& p) { return ops.contains(p.op); });
}

bool is_unasked(const Collective& c, const Requests& requests) {
  const std::vector<OpLocation> locations = op_locations(c.op_name);
  if (is_written(locations)) return false;
  if (c.kind == "collective-permute" && !is_over_stages(c))
    return !std::ranges::any_of(locations,
                                [](const OpLocation& p) { return p.op == "dot_general"; });
  if (c.kind == "all-to-all" || c.kind == "ragged-all-to-all") {
    const int64_t elements = std::accumulate(c.elements.begin(), c.elements.end(), int64_t{0});
    return !requests.ask_for(locations, elements);
  }
  if (c.kind != "all-gather") return false;
  for (size_t i = 0; i < c.elements.size(); ++i) {
    const bool argument = i < c.arguments.size() && c.arguments[i] >= 0;
    if (!argument && !requests.ask_for(locations, c.elements[i])) return true;
  }
  return false;
}

}  // namespace

std::vector<CollectiveRow> unasked_moves(const std::vector<Collective>& all, const Region& graph,
                                         const Mesh& mesh) {
  const Requests requests(graph, mesh);
  std::vector<Collective> unasked;
  std::ranges::copy_if(all, std::back_inserter(unasked),
                       [&](const Collective& c) { return is_unasked(c, requests); });
  return rows_of(unasked);
}

std::optional<Finding> moves_finding(const std::vector<CollectiveRow>& rows) {
  if (rows.empty()) return std::nullopt;
  Finding out{.kind = FindingKind::kMoves};
  std::map<std::string, double> bytes_of_axis;
  for (const CollectiveRow& row : rows) {
    const auto bytes = static_cast<double>(row.bytes);
    out.count += static_cast<double>(row.count);
    out.bytes += bytes;
    for (const std::string& axis : row.axes) bytes_of_axis[axis] += bytes;
    out.names.push_back(fmt::format(
        "{}{} {} over {} at {} ({}{})", row.is_lower_bound ? "at least " : "",
        bytes_text(row.bytes), row.kind, join(row.axes, ", "),
        row.layer.empty() ? "program" : row.layer, row.op, row.backward ? ", backward" : ""));
  }
  const auto most =
      std::ranges::max_element(bytes_of_axis, {}, [](auto& one) { return one.second; });
  if (most != bytes_of_axis.end()) out.axis = most->first;
  return out;
}

}  // namespace axle
