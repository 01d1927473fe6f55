#include "layers/pipeline/circular.h"

#include "config/register.h"

namespace axle {

std::vector<PipelinePass> Circular::passes(int64_t) const {
  std::vector<PipelinePass> out;
  for (int64_t r = 0; r < num_rounds_; ++r) {
    for (int64_t m = 0; m < num_microbatches_; ++m) out.push_back({.round = r, .microbatch = m});
  }
  return out;
}

AXLE_REGISTER(Circular)

}  // namespace axle
