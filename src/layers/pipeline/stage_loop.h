// The loop of a pipeline: in each iteration, every stage runs its layers on a microbatch of its
// own. Then all microbatches move to the next stage.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/config_type.h"
#include "config/fields.h"
#include "ir/tensor.h"
#include "layers/blocks/stack.h"

namespace axle {

// The role PipelineSchedule: which layers a stage holds, and in which order microbatches enter the
// pipeline.

/// One way of a microbatch through all stages.
struct PipelinePass {
  int64_t round, microbatch;
};

/// A microbatch passes through all stages num_rounds() times. In each pass, a stage runs its layers
/// of this round on it, one iteration later than the stage before.
class PipelineSchedule {
 public:
  using Role = PipelineSchedule;
  struct Dims {
    int64_t num_microbatches;
  };
  virtual ~PipelineSchedule() = default;
  virtual int64_t num_rounds() const { return 1; }
  /// Returns all passes, one for each round of each microbatch, in the order in which the first
  /// stage begins them: one in each iteration. A microbatch can begin a round num_stages iterations
  /// after the round before, when it has left the last stage.
  virtual std::vector<PipelinePass> passes(int64_t num_stages) const = 0;
};

/// Each stage holds one run of consecutive layers, and microbatches pass once, in order. Of
/// num_microbatches + num_stages - 1 iterations, a stage is idle in num_stages - 1.
class GPipe final : public PipelineSchedule {
 public:
  struct Config {
    AXLE_CONFIG(GPipe)
  };
  GPipe(const Config&, const Dims& dims, const Scope&) : num_microbatches_(dims.num_microbatches) {}
  std::vector<PipelinePass> passes(int64_t num_stages) const override;

 private:
  int64_t num_microbatches_;
};

// Source: Narayanan et al. 2021, arXiv 2104.04473, section 2.2: stages that hold several runs of
// layers (interleaved stages). All microbatches finish a round before the next one begins.

using NumRounds = Ranged<int64_t, Bounds{.min = 1, .max = 64}>;

/// The last stage sends microbatches back to the first one, num_rounds times in all. A stage holds
/// one run of layers for each round: with 2 stages and 2 rounds of 8 layers, the first stage holds
/// the layers 0, 1, 4 and 5. A stage is idle for the time of num_stages - 1 runs, which are
/// num_rounds times shorter than GPipe's. There must be as many microbatches as stages, or
/// more.
class Circular final : public PipelineSchedule {
 public:
  struct Config {
    /// Runs of layers that a stage holds.
    NumRounds num_rounds = 2;
    AXLE_CONFIG(Circular, num_rounds)
  };
  Circular(const Config& cfg, const Dims& dims, const Scope&)
      : num_rounds_(cfg.num_rounds), num_microbatches_(dims.num_microbatches) {}
  int64_t num_rounds() const override { return num_rounds_; }
  std::vector<PipelinePass> passes(int64_t num_stages) const override;

 private:
  int64_t num_rounds_, num_microbatches_;
};

// Microbatches: the equal parts of a batch.
//
// Part i of n has the rows i, i + n, i + 2n, ..., so that each device splits its own rows.

/// Splits the rows, dim `rows` of x, into n parts: the result counts the parts by a new dim 0. n
/// must divide the rows.
Tensor split_rows(const Tensor& x, int64_t n, int64_t rows = 0);
/// Undoes split_rows: dim `rows` of each part has its rows.
Tensor merge_rows(const Tensor& parts, int64_t rows = 0);

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
