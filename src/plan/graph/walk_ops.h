// Visits the ops of a traced training step, also those in the bodies of other ops.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/tensor.h"

namespace axle {

/// The parts of a training step. kUpdate: the learner, the check for finite numbers, all that is
/// computed from the gradients, and ops outside of layers that only these read.
enum class StepStage { kForward, kBackward, kUpdate };
inline constexpr std::array<std::string_view, 3> kStageNames = {"forward", "backward", "update"};

/// Returns the stage of each op of the step or of a body of its forward part, in order. Ops in the
/// body of an op of another stage have its stage.
std::vector<StepStage> stages_of(const Region& region);
/// Returns the loop that computes the parts of a batch one after another (Learner::microbatches);
/// null if the step computes the batch at once.
const OpNode* loop_over_parts(const Region& step);
/// Returns the region that has a backward pass: the body of that loop, else the step.
const Region& differentiated_region(const Region& step);

/// An op without a body.
struct RunOp {
  const OpNode& op;
  StepStage stage = StepStage::kForward;
  /// How often one step runs the op. Of the branches of a cond only the costliest counts.
  double runs = 1;
};
/// Calls `fn` for every op without a body. Costs of these ops, times their runs, add up to
/// graph_cost(step).
void walk_ops(const Region& step, const std::function<void(const RunOp&)>& fn);

/// Returns the layer path of an op, "model/decoder/layers/layer"; "" for none.
std::string_view layer_of(const OpNode& op);
/// True if `path` is `layer` or a layer below. Every path is below "".
bool is_in_layer(std::string_view path, std::string_view layer);
/// Returns the layer path that `layer` spells, also with dots instead of slashes, with a slash at
/// its end, and without "model" in front. Throws ConfigError if no op of the step is in this layer.
std::string find_layer(const Region& step, const std::string& layer);

}  // namespace axle
