// Divides ops with regions between the forward and the backward part of a remat region, so that the
// policy of the remat also decides about values inside of loops, branches, calls, shard_maps and
// other remats.
//
// Source: JAX's partial evaluation of scan with a policy, jax/_src/lax/control_flow/loops.py.
#pragma once

#include <optional>
#include <vector>

#include "ir/op_rules.h"
#include "ir/value_map.h"
#include "transform/remat/partition.h"

namespace axle {

/// Returns a joint region that computes the same. Each forward op in whose regions the policy keeps
/// a value becomes two ops: a forward one that returns the value too, and a backward one that reads
/// it and computes the rest anew. What depends on such an op is computed anew by backward ops.
/// Adds the values that the forward ops return to `kept`.
Joint divide_ops(Joint joint, const ResidualPolicy& policy, ValueMap<Residual>& kept);

/// Divides a region that has no backward ops:
///   forward(parameters) -> results ++ saved
///   backward(needed parameters ++ saved) -> results marked in `used`
Halves divide_region(const Region& region, const std::vector<bool>& used,
                     const ResidualPolicy& policy);

/// Divide rule of ops that run their body, the op's only region, once: call, remat.
std::optional<Divided> divide_body(const OpNode& op, const std::vector<bool>& used,
                                   const ResidualPolicy& policy);

}  // namespace axle
