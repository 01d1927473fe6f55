#include "layers/pipeline/gpipe.h"

#include "config/register.h"

namespace axle {

std::vector<PipelinePass> GPipe::passes(int64_t) const {
  std::vector<PipelinePass> out;
  for (int64_t m = 0; m < num_microbatches_; ++m) out.push_back({.round = 0, .microbatch = m});
  return out;
}

AXLE_REGISTER(GPipe)

}  // namespace axle
