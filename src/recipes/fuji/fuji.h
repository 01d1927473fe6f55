// The rules of the Fuji recipes for machines.
#pragma once

#include "modifiers/modifier.h"

namespace axle {

/// The parameters of the rules: the number of devices over which parameters are sharded on each
/// machine, -1 for all of them, and properties of the model.
struct FujiRules {
  int64_t fsdp_tpu_v5p, fsdp_gpu;
  int64_t fsdp_tpu_v6e = 256;
  /// Patterns of the device counts that the numbers above do not divide, and of one host. There,
  /// all devices share the parameters.
  std::string few_tpu_v5p = "[0-9]{1,2}", few_gpus = "[1248]";
  /// Devices of the published runs. No device of fewer computes more rows at once.
  int64_t published_devices = 256;
  int64_t rows_per_batch = 1024, seq_len = 4096;
  bool grouped_queries = false;
  /// The published number of H100s, or more, has room for the hidden layers of the feed-forward
  /// network, which are not computed again then.
  bool gpu_keeps_hidden = false;
  bool untied_head = false;  // with a large embedding: both are sharded like other weights
};

/// Returns the rules. Only they differ between machines. Whole slices of v5e and v6e have 256
/// chips. On v5p and v6e, parameters are sharded over a part of the torus: over more chips, the
/// compiler sums gradients of some shapes by all-reduce, which sends twice as much as
/// reduce-scatter. On GPUs, parameters are sharded over the fewest nodes that can hold them.
/// Machines smaller than the published ones compute a batch in parts.
MeshRules fuji_rules(const FujiRules& r);

}  // namespace axle
