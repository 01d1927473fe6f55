// The rules of the Fuji recipes for machines.
#pragma once

#include "modifiers/modifier.h"

namespace axle {

/// The parameters of the rules: the number of devices over which parameters are sharded on each
/// machine, -1 for all of them, and properties of the model.
struct FujiRules {
  int64_t fsdp_tpu_v5p, fsdp_gpu;
  int64_t fsdp_tpu_v6e = 256;
  /// Patterns for the device counts that the numbers above do not divide. On such machines,
  /// parameters are sharded over all devices.
  std::string few_tpu_v5p = "[0-9]{1,2}", few_gpus = "[1-7]";
  int64_t seq_len = 4096;
  bool grouped_queries = false;
  bool untied_head = false;  // with a large embedding: both are sharded like other weights
};

/// Returns the rules. Only they differ between machines. Whole slices of v5e and v6e have 256
/// chips. On v5p and v6e, parameters are sharded over a part of the torus: over more chips, the
/// compiler sums gradients of some shapes by all-reduce, which sends twice as much as
/// reduce-scatter. On GPUs, parameters are sharded over the fewest nodes that can hold them; one
/// GPU and a host of eight compute a batch in parts.
MeshRules fuji_rules(const FujiRules& r);

}  // namespace axle
