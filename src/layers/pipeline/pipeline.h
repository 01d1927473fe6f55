// Equal blocks one after another, divided into stages that work on different parts of the batch at
// the same time.
//
// All stages run as one program: a vmap over the stages, whose dim is sharded over the mesh axis
// `pipeline`, in a loop whose iterations end with a move of all activations to the next stage. The
// partitioner makes a collective-permute of this move.
//
// Source: Xu et al. 2021, "GSPMD", arXiv 2105.04663, section 3.3.
#pragma once

#include <map>

#include "config/fields.h"
#include "layers/blocks/norm_placements.h"
#include "layers/pipeline/stage_loop.h"

namespace axle {

using NumMicrobatches = Ranged<int64_t, Bounds{.min = 1, .max = 4096}>;
/// A dim of a tensor, or -1 for none.
using RowsDim = Ranged<int64_t, Bounds{.min = -1, .max = 7}>;

/// x -> `layer` applied num_layers times, as Repeat does: one microbatch after the other, for any
/// stages and schedule. Microbatch i has the rows i, i + num_microbatches, ...
///
/// Shapes: x_BTD -> y_BTD, dtype of x.
/// Parameters, state and initial values are the same as in Repeat, dim by dim, so that the one
/// continues the other's checkpoints. The leading dim, which counts the layers, is sharded over the
/// mesh axis `pipeline`. A schedule with several rounds moves weights to the devices of their
/// stages in each step.
///
/// Losses and summaries are means over the microbatches, which count by their tokens. A layer that
/// computes statistics over rows sees the rows of a microbatch, and its state passes through the
/// microbatches in order. Other collected outputs get a second dim that counts the microbatches.
/// Microbatch m of layer i draws from fold_in(fold_in(key, m), i); if there is only one, from
/// fold_in(key, i) as in Repeat.
///
/// Positions, segments and published values go with their microbatch. Decoding runs as in Repeat,
/// without stages and microbatches.
///
/// Each device of the mesh axis `pipeline` has one stage. Without this axis there are none: the
/// microbatches go through all layers in turn.
///
/// Throws ConfigError at construction if the layers do not form the rounds of the schedule; in a
/// call if they do not form stages, if the batch does not form microbatches, or if these are too
/// few for the schedule.
class Pipeline final : public Block {
 public:
  struct Config {
    /// Number of blocks.
    Required<Positive<int64_t>> num_layers = REQUIRED;
    /// Parts of a batch that are in different stages at a time. More make stages idle for a smaller
    /// part of a step.
    Required<NumMicrobatches> num_microbatches = REQUIRED;
    /// Which layers a stage holds, and the order of the microbatches.
    Child<PipelineSchedule> schedule = GPipe::Config{};
    /// Blocks of a stage that the compiled program runs before it looks at its counter, as in
    /// Repeat.
    Positive<int64_t> unroll = 1;
    /// The dim that counts the rows, by the name of a published value in which it is not dim 0; -1:
    /// the value is the same for all rows, as one is whose dim 0 has one row.
    std::map<std::string, RowsDim> rows = {};
    /// Config of every block; each block has its own parameters.
    Child<Block> layer = TransformerLayer::Config{};
    AXLE_CONFIG(Pipeline, num_layers, num_microbatches, schedule, unroll, rows, layer)
  };
  Pipeline(const Config& cfg, const Dims& dims, const Scope& scope);
  bool can_decode() const override { return true; }
  Tree<ParamSpec> param_specs() const override;
  Tree<ParamSpec> state_specs() const override;
  Tree<Tensor> initialize(const random::Key& key) const override;
  Tree<StateSpec> decode_state_specs(const DecodeDims& dims) const override;

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext& context) override;

 private:
  PipelinePlan plan() const;
  void check_passes(const PipelinePlan& plan) const;
  std::optional<int64_t> rows_of(const std::string& name, const Type& type, int64_t num_rows) const;
  /// i32[B, T] -> f32[M]: the share of each microbatch in the tokens, without padding.
  Tensor shares_of_tokens(const Tensor& segment_ids_BT) const;
  Traveller split(const std::string& name, const Tensor& value, std::optional<int64_t> rows,
                  int64_t batch_size) const;

  Config cfg_;
  Handle<PipelineSchedule> schedule_;
  Handle<Block> layer_;
};

}  // namespace axle
