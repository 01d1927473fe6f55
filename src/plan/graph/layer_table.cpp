#include "plan/graph/layer_table.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/text/text_table.h"
#include "ir/op_rules.h"
#include "plan/graph/saved_values.h"
#include "plan/graph/walk_ops.h"

namespace axle {
namespace {

int64_t depth_of(std::string_view path) {
  return path.empty() ? 0 : std::ranges::count(path, '/') + 1;
}

// The rows of all layers up to a depth, by path.
class Rows {
 public:
  Rows(const std::string& top, const std::optional<int64_t>& depth) : top_(top), depth_(depth) {
    rows_[top].path = top;
  }

  // Calls add(row) for the layer at `path` and for each layer above it, up to the top.
  template <class F>
  void each_above(std::string_view path, F&& add) {
    if (!is_in_layer(path, top_)) return;
    while (path.size() > top_.size()) {
      if (!depth_ || depth_of(path) - depth_of(top_) <= *depth_) add(at(path));
      const size_t slash = path.rfind('/');
      path = path.substr(0, slash == path.npos ? 0 : slash);
    }
    add(rows_[top_]);
  }
  bool contains(std::string_view path) const { return rows_.contains(std::string(path)); }

  std::vector<LayerRow> take() {
    std::vector<LayerRow> out;
    for (auto& [path, row] : rows_) out.push_back(std::move(row));
    return out;
  }

 private:
  // Orders children directly after their parents: a slash sorts before every other character.
  struct ByPath {
    bool operator()(const std::string& a, const std::string& b) const {
      return std::ranges::lexicographical_compare(a, b, {}, order, order);
    }
    static int order(char c) { return c == '/' ? -1 : static_cast<unsigned char>(c); }
  };
  LayerRow& at(std::string_view path) {
    LayerRow& row = rows_[std::string(path)];
    row.path = path;
    return row;
  }
  std::string top_;
  std::optional<int64_t> depth_;
  std::map<std::string, LayerRow, ByPath> rows_;
};

// Returns the number of elements of every parameter among the arguments of a training step, by
// path.
std::map<std::string, int64_t> parameters_of(const Program& step) {
  std::map<std::string, int64_t> out;
  for (const ProgramValue& input : step.inputs) {
    const bool is_state = input.donated_to >= 0;  // a batch is not donated
    if (is_state && input.name != "prng_key" && !input.name.starts_with("learner/") &&
        !input.name.starts_with("state/"))
      out[input.name] = input.type.num_elements();
  }
  return out;
}

}  // namespace

LayerTable layer_table(const Program& step, const std::string& layer,
                       const std::optional<int64_t>& depth,
                       const std::map<std::string, std::string>& forms) {
  Rows rows(layer, depth);
  walk_ops(*step.graph, [&](const RunOp& run) {
    const CostRule& cost = run.op.rules->row().cost;
    const double flops = run.runs * cost.flops(run.op), bytes = run.runs * cost.bytes(run.op);
    const auto stage = static_cast<size_t>(run.stage);
    rows.each_above(layer_of(run.op), [&](LayerRow& row) {
      row.num_ops[stage] += 1;
      row.flops[stage] += flops;
      row.bytes[stage] += bytes;
    });
  });
  for (const SavedValue& value : saved_values(*step.graph, layer).values) {
    if (value.is_argument || value.is_on_host) continue;
    rows.each_above(value.layer, [&](LayerRow& row) {
      row.saved_bytes += static_cast<double>(value.type.num_bytes());
    });
  }
  for (const auto& [path, count] : parameters_of(step)) {
    rows.each_above(path.substr(0, path.rfind('/')),
                    [&, n = count](LayerRow& row) { row.num_parameters += n; });
  }
  LayerTable out{.rows = rows.take()};
  for (const auto& [path, form] : forms)
    if (is_in_layer(path, layer)) out.forms.emplace(path, form);
  return out;
}

std::string to_text(const LayerTable& table) {
  TextTable text({"layer", "ops", "forward FLOPs", "backward FLOPs", "update FLOPs", "bytes",
                  "saved for backward", "parameters"});
  const auto sum = [](const auto& by_stage) { return by_stage[0] + by_stage[1] + by_stage[2]; };
  const auto number = [](double v) { return v > 0 ? fmt::format("{:.4g}", v) : "-"; };
  const int64_t top = depth_of(table.rows.front().path);
  for (const LayerRow& row : table.rows) {
    const bool is_first = &row == &table.rows.front();
    const std::string name = !is_first          ? row.path.substr(row.path.rfind('/') + 1)
                             : row.path.empty() ? "step"
                                                : row.path;
    const auto indent = static_cast<size_t>(2 * (depth_of(row.path) - top));
    text.add({std::string(indent, ' ') + name, std::to_string(sum(row.num_ops)),
              number(row.flops[0]), number(row.flops[1]), number(row.flops[2]),
              bytes_text(sum(row.bytes)), row.saved_bytes > 0 ? bytes_text(row.saved_bytes) : "-",
              row.num_parameters > 0 ? grouped_digits(row.num_parameters) : "-"});
  }
  std::string out = text.text();
  if (!table.forms.empty()) out += "\nforms of layers\n";
  for (const auto& [path, form] : table.forms) out += fmt::format("  {}: {}\n", path, form);
  return out;
}

nlohmann::ordered_json to_json(const LayerTable& table) {
  const auto by_stage = [](const auto& values) {
    nlohmann::ordered_json out;
    for (size_t i = 0; i < kStageNames.size(); ++i) out[kStageNames[i]] = values[i];
    return out;
  };
  auto layers = nlohmann::ordered_json::array();
  for (const LayerRow& row : table.rows) {
    layers.push_back({{"path", row.path},
                      {"ops", by_stage(row.num_ops)},
                      {"flops", by_stage(row.flops)},
                      {"bytes", by_stage(row.bytes)},
                      {"saved_bytes", row.saved_bytes},
                      {"parameters", row.num_parameters}});
  }
  return {{"layers", std::move(layers)}, {"forms", table.forms}};
}

OpCounts op_counts(const Region& step, const std::string& layer) {
  std::map<std::string, OpCount> by_name;
  walk_ops(step, [&](const RunOp& run) {
    if (!is_in_layer(layer_of(run.op), layer)) return;
    OpCount& count = by_name[std::string(run.op.rules->name())];
    count.count[static_cast<size_t>(run.stage)] += 1;
    count.runs += run.runs;
  });
  OpCounts out;
  for (auto& [name, count] : by_name) {
    count.op = name;
    out.ops.push_back(count);
  }
  return out;
}

std::string to_text(const OpCounts& counts) {
  TextTable text({"op", "forward", "backward", "update", "all", "runs per step"});
  OpCount sum{.op = "all"};
  const auto add = [&](const OpCount& row) {
    const auto& n = row.count;
    text.add({row.op, std::to_string(n[0]), std::to_string(n[1]), std::to_string(n[2]),
              std::to_string(n[0] + n[1] + n[2]), fmt::format("{:.0f}", row.runs)});
  };
  for (const OpCount& row : counts.ops) {
    add(row);
    for (size_t i = 0; i < sum.count.size(); ++i) sum.count[i] += row.count[i];
    sum.runs += row.runs;
  }
  add(sum);
  return text.text();
}

nlohmann::ordered_json to_json(const OpCounts& counts) {
  auto ops = nlohmann::ordered_json::object();
  for (const OpCount& row : counts.ops) {
    auto& entry = ops[row.op];
    for (size_t i = 0; i < kStageNames.size(); ++i) entry[kStageNames[i]] = row.count[i];
    entry["runs"] = row.runs;
  }
  return {{"ops", std::move(ops)}};
}

}  // namespace axle
