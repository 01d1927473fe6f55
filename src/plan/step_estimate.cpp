#include "plan/step_estimate.h"

#include <algorithm>

namespace axle {
namespace {

double ratio(double amount, double rate) { return rate > 0 ? amount / rate : 0; }

}  // namespace

DeviceRates rates_of(const Accelerator& accelerator) {
  return {.flops = accelerator.peak_bf16_flops, .memory_bytes = accelerator.memory_bandwidth};
}

std::optional<StepEstimate> estimate_step(const DeviceWork& work,
                                          const std::vector<CollectiveRow>& rows,
                                          const Target& target, const StepCounts& size) {
  const Accelerator& accelerator = target.accelerator;
  if (accelerator.peak_bf16_flops == 0 || accelerator.memory_bandwidth == 0) return std::nullopt;
  StepEstimate out{.compute_seconds = work.compute_seconds, .memory_seconds = work.memory_seconds};
  for (const CollectiveRow& row : rows) {
    const double fast = ratio(row.wire.fast, accelerator.fast_network),
                 slow = ratio(row.wire.slow, accelerator.slow_network);
    out.fast_network_seconds += fast;
    out.slow_network_seconds += slow;
    if (row.waits) out.waiting_seconds += std::max(fast, slow);
  }
  const double on_chip = work.seconds + out.waiting_seconds,
               network = std::max(out.fast_network_seconds, out.slow_network_seconds);
  out.seconds = std::max(on_chip, network);
  const double alone = std::max(out.waiting_seconds, network > on_chip ? network : 0);
  if (alone > std::max(work.compute_seconds, work.memory_seconds)) {
    out.bound =
        out.slow_network_seconds > out.fast_network_seconds ? "network (slow)" : "network (fast)";
  } else {
    out.bound = work.compute_seconds >= work.memory_seconds ? "compute" : "memory";
  }
  out.tokens_per_second = ratio(size.tokens, out.seconds);
  out.mfu = ratio(size.model_flops, out.seconds * accelerator.peak_bf16_flops *
                                        static_cast<double>(target.num_devices()));
  return out;
}

}  // namespace axle
