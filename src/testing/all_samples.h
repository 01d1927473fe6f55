// The samples that laws of all ops go over.
#pragma once

#include "testing/body_samples.h"
#include "testing/collective_samples.h"
#include "testing/host_tensors.h"

namespace axle::testing {

/// Returns the samples of all ops: those of the rows, of ops with a body, and of collectives.
inline std::vector<OpSample> all_samples() {
  std::vector<OpSample> out = op_samples();
  for (OpSample& sample : body_samples()) out.push_back(std::move(sample));
  static const auto each_collective = collectives();
  for (const auto& sample : each_collective)
    out.push_back({sample.name, {normal_values({8, 4}, 3)}, sample.on_devices});
  return out;
}

}  // namespace axle::testing
