#include "plan/graph/walk_ops.h"

#include <fmt/format.h>

#include <set>
#include <unordered_set>

#include "base/error.h"
#include "base/text/text.h"
#include "ir/op_rules.h"

namespace axle {
namespace {

void walk(const Region& region, Stage stage, double runs,
          const std::function<void(const RunOp&)>& fn);

void walk_op(const OpNode& op, Stage stage, double runs,
             const std::function<void(const RunOp&)>& fn) {
  if (op.regions.empty()) return fn({op, stage, runs});
  const RunsRule rule = op.rules->row().runs;
  const std::vector<double> times = rule ? rule(op) : std::vector<double>(op.regions.size(), 1);
  for (size_t i = 0; i < op.regions.size(); ++i) {
    if (times[i] > 0) walk(*op.regions[i], stage, runs * times[i], fn);
  }
}

void walk(const Region& region, Stage stage, double runs,
          const std::function<void(const RunOp&)>& fn) {
  for (const OpNode* op : region.ops()) walk_op(*op, stage, runs, fn);
}

void add_layers(const Region& region, std::set<std::string>& layers) {
  for (const OpNode* op : region.ops()) {
    std::string_view path = layer_of(*op);
    while (!path.empty() && layers.emplace(path).second)
      path = path.substr(0, path.rfind('/') == path.npos ? 0 : path.rfind('/'));
    for (const auto& body : op->regions) add_layers(*body, layers);
  }
}

}  // namespace

std::vector<Stage> stages_of(const Region& step) {
  std::vector<Stage> out;
  std::unordered_set<const OpNode*> after_backward;
  for (const OpNode* op : step.ops()) {
    const bool reads_gradients = std::ranges::any_of(
        op->inputs, [&](const Tensor& t) { return after_backward.contains(t.node()); });
    const bool is_backward = op->phase == Phase::kBackward;
    if (reads_gradients || is_backward) after_backward.insert(op);
    out.push_back(is_backward       ? Stage::kBackward
                  : reads_gradients ? Stage::kUpdate
                                    : Stage::kForward);
  }
  return out;
}

void walk_ops(const Region& step, const std::function<void(const RunOp&)>& fn) {
  const std::vector<Stage> stages = stages_of(step);
  for (size_t i = 0; i < stages.size(); ++i) walk_op(*step.ops()[i], stages[i], 1, fn);
}

std::string_view layer_of(const OpNode& op) {
  return op.scope ? std::string_view(*op.scope) : std::string_view();
}

bool is_in_layer(std::string_view path, std::string_view layer) {
  return layer.empty() || path == layer ||
         (path.starts_with(layer) && path.substr(layer.size()).starts_with("/"));
}

std::string find_layer(const Region& step, const std::string& layer) {
  if (layer.empty()) return layer;
  std::set<std::string> found;
  add_layers(step, found);
  std::string path = layer;
  std::ranges::replace(path, '.', '/');
  if (found.contains(path)) return path;
  if (found.contains("model/" + path)) return "model/" + path;
  const std::vector<std::string> layers(found.begin(), found.end());
  std::string hint = suggest(path, layers);
  if (hint.empty()) hint = suggest("model/" + path, layers);
  if (hint.empty()) {
    std::vector<std::string> first;
    for (const std::string& name : layers) {
      if (name.find('/') == name.npos) first.push_back(name);
    }
    hint = fmt::format("; layers begin with {}", join(first, ", "));
  }
  throw ConfigError(
      fmt::format("--layer: expected the path of a layer with ops, got '{}'{}", layer, hint));
}

}  // namespace axle
