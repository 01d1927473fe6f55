#include "plan/graph/op_counts.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/text/text_table.h"
#include "ir/op_rules.h"
#include "plan/graph/walk_ops.h"

namespace axle {

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
