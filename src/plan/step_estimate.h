// How long a step takes at least on hardware that need not be here: a roofline.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hlo/collectives.h"
#include "hlo/work.h"
#include "targets/target.h"

namespace axle {

/// Of one device, were every unit as fast as its maker says. What computes and what moves data of
/// the main memory waits for each other from instruction to instruction; the networks work beside
/// them, but for collectives during which nothing else runs.
struct StepEstimate {
  double seconds = 0;
  /// Sums of each by itself.
  double compute_seconds = 0, memory_seconds = 0, fast_network_seconds = 0,
         slow_network_seconds = 0;
  /// Of the network seconds, those during which nothing is computed.
  double waiting_seconds = 0;
  std::string bound;  // "compute", "memory", "network" (its slow or fast part in brackets)
  double tokens_per_second = 0;
  /// Model FLOPs by the published convention over what all devices could do in that time.
  double mfu = 0;
};

struct StepSize {
  double tokens = 0, model_flops = 0;
};

DeviceRates rates_of(const Accelerator& accelerator);

/// None where the accelerator's rates are not known.
std::optional<StepEstimate> estimate_step(const DeviceWork& work,
                                          const std::vector<CollectiveRow>& rows,
                                          const Target& target, const StepSize& size);

}  // namespace axle
