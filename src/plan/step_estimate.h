// A roofline estimate: the least time of a step on hardware that may be absent.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hlo/collectives.h"
#include "hlo/work.h"
#include "targets/target.h"

namespace axle {

/// The times of one device if every unit reaches its published rate. Computing and moving data of
/// the main memory overlap within an instruction but not across instructions. The networks overlap
/// with both, except for collectives during which nothing is computed.
struct StepEstimate {
  double seconds = 0;
  /// Total time of each unit alone.
  double compute_seconds = 0, memory_seconds = 0, fast_network_seconds = 0,
         slow_network_seconds = 0;
  /// The part of the network seconds during which nothing is computed.
  double waiting_seconds = 0;
  std::string bound = {};  // "compute", "memory", "network (fast)" or "network (slow)"
  double tokens_per_second = 0;
  /// Model FLOPs of the step, by the published convention, divided by the FLOPs that all devices
  /// could do in `seconds` at their bf16 peak.
  double mfu = 0;
};

struct StepCounts {
  double tokens = 0, model_flops = 0;
};

DeviceRates rates_of(const Accelerator& accelerator);

/// Returns none if the accelerator's peak or memory bandwidth is not known.
std::optional<StepEstimate> estimate_step(const DeviceWork& work,
                                          const std::vector<CollectiveRow>& rows,
                                          const Target& target, const StepCounts& size);

}  // namespace axle
