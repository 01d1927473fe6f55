#include "train/record/throughput.h"

namespace axle {

Throughput throughput_of(const Lap& lap, const StepCost& cost) {
  const double secs = lap.secs / static_cast<double>(lap.num_steps);
  Throughput out{.tokens_per_sec = static_cast<double>(lap.num_tokens) / lap.secs,
                 .step_secs = secs};
  if (cost.peak_flops > 0) {
    out.mfu = cost.model_flops / secs / cost.peak_flops;
    out.hfu = cost.program_flops / secs / cost.peak_flops;
  }
  return out;
}

void add_throughput(Tree<double>& values, const Throughput& speed) {
  values["tokens_per_sec"] = speed.tokens_per_sec;
  values["mfu"] = speed.mfu;
  values["hfu"] = speed.hfu;
}

}  // namespace axle
