#include "plan/graph/walk_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include "base/error.h"
#include "base/text/text.h"
#include "transform/bodies.h"

namespace axle {
namespace {

void walk(const Region& region, StepStage stage, double trips,
          const std::function<void(const RunOp&)>& fn);

void walk_op(const OpNode& op, StepStage stage, double trips,
             const std::function<void(const RunOp&)>& fn) {
  if (op.regions.empty()) return fn({op, stage, trips});
  const std::vector<double> times = counted_trips(op);
  for (size_t i = 0; i < op.regions.size(); ++i) {
    if (times[i] > 0) walk(*op.regions[i], stage, trips * times[i], fn);
  }
}

void walk(const Region& region, StepStage stage, double trips,
          const std::function<void(const RunOp&)>& fn) {
  std::vector<StepStage> stages(region.ops().size(), stage);
  if (stage == StepStage::kForward) stages = stages_of(region);
  for (size_t i = 0; i < stages.size(); ++i) walk_op(*region.ops()[i], stages[i], trips, fn);
}

bool has_backward_pass(const Region& region) {
  return std::ranges::any_of(region.ops(),
                             [](const OpNode* op) { return op->phase == Phase::kBackward; });
}

void add_layers(const Region& region, std::set<std::string>& layers) {
  for (const OpNode* op : region.ops()) {
    std::string_view path = layer_of(*op);
    while (!path.empty() && layers.emplace(path).second)
      path = path.substr(0, path.rfind('/') == path.npos ? 0 : path.rfind('/'));
    for (const auto& body : op->regions) add_layers(*body, layers);
  }
}

// Optimizers also compute values that depend on no gradient, such as learning rates.
bool is_of_update(const OpNode& op) {
  return is_in_layer(layer_of(op), "learner") || is_in_layer(layer_of(op), "finite");
}

// Moves ops outside of layers to the update if only the update reads them.
void move_to_update(const Region& step, std::vector<StepStage>& stages) {
  std::unordered_set<const OpNode*> read_by_update, read_otherwise;
  for (const Tensor& t : step.results()) read_otherwise.insert(t.node());
  for (size_t i = stages.size(); i-- > 0;) {
    const OpNode* op = step.ops()[i];
    if (stages[i] == StepStage::kForward && layer_of(*op).empty() && read_by_update.contains(op) &&
        !read_otherwise.contains(op))
      stages[i] = StepStage::kUpdate;
    auto& read = stages[i] == StepStage::kUpdate ? read_by_update : read_otherwise;
    for (const Tensor& t : op->inputs) read.insert(t.node());
  }
}

}  // namespace

std::vector<StepStage> stages_of(const Region& region) {
  std::vector<StepStage> out;
  std::unordered_set<const OpNode*> after_forward;
  for (const OpNode* op : region.ops()) {
    const bool is_backward = op->phase == Phase::kBackward;
    const bool is_update =
        is_of_update(*op) || std::ranges::any_of(op->inputs, [&](const Tensor& t) {
          return after_forward.contains(t.node());
        });
    if (is_backward || is_update) after_forward.insert(op);
    out.push_back(is_backward ? StepStage::kBackward
                  : is_update ? StepStage::kUpdate
                              : StepStage::kForward);
  }
  move_to_update(region, out);
  return out;
}

const OpNode* loop_over_parts(const Region& step) {
  if (has_backward_pass(step)) return nullptr;
  for (const OpNode* op : step.ops()) {
    if (op->regions.size() == 1 && has_backward_pass(op->region())) return op;
  }
  return nullptr;
}

const Region& differentiated_region(const Region& step) {
  const OpNode* const loop = loop_over_parts(step);
  return loop ? loop->region() : step;
}

void walk_ops(const Region& step, const std::function<void(const RunOp&)>& fn) {
  walk(step, StepStage::kForward, 1, fn);
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
  // As a shell completes folders: "model/decoder/".
  while (path.ends_with('/')) path.pop_back();
  if (found.contains(path)) return path;
  if (found.contains("model/" + path)) return "model/" + path;
  const std::vector<std::string> layers(found.begin(), found.end());
  std::string hint = suggest_path(path, layers);
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
