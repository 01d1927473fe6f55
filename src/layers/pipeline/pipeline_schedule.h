// The role PipelineSchedule: which layers a stage holds, and in which order microbatches enter the
// pipeline.
#pragma once

#include <cstdint>
#include <vector>

#include "config/axle_config.h"

namespace axle {

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

}  // namespace axle
