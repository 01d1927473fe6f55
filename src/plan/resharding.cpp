#include "plan/resharding.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

#include "base/text/text.h"
#include "base/text/units.h"
#include "hlo/op_name.h"
#include "ir/op_rules.h"
#include "ops/annotate.h"

namespace axle {
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
