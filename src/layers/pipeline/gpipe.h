// Source: Huang et al. 2019, "GPipe", arXiv 1811.06965, section 2.3.
#pragma once

#include "config/fields/child.h"
#include "layers/pipeline/pipeline_schedule.h"

namespace axle {

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

}  // namespace axle
