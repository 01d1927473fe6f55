// The loop of a pipeline: in each iteration, every stage runs its layers on a microbatch of its
// own. Then all microbatches move to the next stage.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "layers/blocks/layer_loop.h"
#include "layers/pipeline/pipeline_schedule.h"

namespace axle {

/// The sizes of a pipeline, and the order of its microbatches.
struct PipelinePlan {
  int64_t num_stages, num_microbatches, num_rounds;
  /// Layers that a stage runs in one iteration.
  int64_t layers_per_run;
  std::vector<PipelinePass> passes;

  int64_t num_iterations() const { return std::ssize(passes) + num_stages - 1; }
};

/// Shards the stages.
inline const DimAxes kStageAxes = "pipeline";

/// Returns the dim of a published value that counts the `num_rows` rows, by its name and type;
/// none: the value is the same for all rows.
using RowsOf = std::function<std::optional<int64_t>(const std::string& name, const Type& type,
                                                    int64_t num_rows)>;

/// A value that goes through the stages with its microbatch.
struct Traveller {
  /// Its name among the arguments, or the one under which it is published.
  std::string name;
  /// Its value for each microbatch, along dim 0.
  Tensor parts;
  /// The dim of a part that counts rows, as RowsOf returns it.
  std::optional<int64_t> rows = 0;
};

/// What a pipeline reads.
struct PipelineInputs {
  /// x, then the tensors of the context, in its order.
  std::vector<Traveller> arguments;
  MixerContext context;
  /// Values that layers may read by name.
  std::vector<Traveller> published;
  /// All layers: parameters and state with a leading dim that counts them.
  LayerStack layers;
  /// f32[M]: the share of each microbatch in the tokens of the batch; none: all are equal.
  std::optional<Tensor> weights_M = {};
};

struct PipelineOutputs {
  Traveller x;
  std::vector<Traveller> published;
  /// As Repeat collects it, without published values: a leading dim counts the layers. Losses and
  /// summaries are means over the microbatches, which count by their tokens; other outputs get a
  /// second dim that counts the microbatches.
  OutputCollection collected;
};

/// `run` runs the layers of a stage in one round.
PipelineOutputs run_stages(const PipelinePlan& plan, const LayerLoop& run,
                           const PipelineInputs& inputs, const RowsOf& rows_of);

}  // namespace axle
