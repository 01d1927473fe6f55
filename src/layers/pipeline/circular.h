// Source: Narayanan et al. 2021, arXiv 2104.04473, section 2.2: stages that hold several runs of
// layers (interleaved stages). All microbatches finish a round before the next one begins.
#pragma once

#include "config/fields/child.h"
#include "config/fields/ranged.h"
#include "layers/pipeline/pipeline_schedule.h"

namespace axle {

using NumRounds = Ranged<int64_t, Bounds{.min = 1, .max = 64}>;

/// The last stage sends microbatches back to the first one, num_rounds times in all. A stage holds
/// one run of layers for each round: with 2 stages and 2 rounds of 8 layers, the first stage holds
/// the layers 0, 1, 4 and 5. A stage is idle for the time of num_stages - 1 runs, which are
/// num_rounds times shorter than those of GPipe. There must be as many microbatches as stages, or
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

}  // namespace axle
