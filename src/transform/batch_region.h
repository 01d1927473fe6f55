// Batches a region: emits its ops with a leading batch dim. vmap and the batching rules of ops with
// a body use it.
#pragma once

#include <memory>
#include <vector>

#include "ir/op_rules.h"
#include "transform/trace.h"

namespace axle {

/// Pairs values with their marks: values[i] has the batch dim in front if batched[i].
std::vector<Batched> with_marks(const Values& values, const std::vector<bool>& batched);
/// Returns which of the values have the batch dim.
std::vector<bool> batched_marks(std::span<const Batched> values);
/// Returns the values with the batch dim; repeats those that are not batched.
Values with_batch_dims(std::span<const Batched> values, const BatchAxis& axis);

/// Emits the ops of `region` into the current region, with `arguments` for its parameters. Ops of
/// which no operand is batched are emitted once, without the batch. Throws InternalError for an op
/// without a batching rule.
std::vector<Batched> batch_region(const Region& region, std::span<const Batched> arguments,
                                  const BatchAxis& axis);

/// Returns which results of `region` depend on a parameter marked in `batched`. batch_region may
/// find that some of them are not batched after all.
std::vector<bool> batched_results(const Region& region, const std::vector<bool>& batched);

/// A closed region that computes `region` for each element of the batch.
struct BatchedRegion {
  std::shared_ptr<const Region> region;
  std::vector<bool> results;  // marks of the results
};
/// Makes the BatchedRegion of `region`. Parameters that are marked in `batched` have the batch dim
/// in front. Results that are marked in `force` get it even if they do not depend on these.
BatchedRegion batched_region(const Region& region, const std::vector<bool>& batched,
                             const BatchAxis& axis, const std::vector<bool>& force = {});

/// Batching rule of ops with regions: batches what flows through the regions. A value that is
/// carried is batched if some run batches it. The batch dim of what is sliced is dim 1.
std::vector<Batched> batch_flow(BatchX x);
/// Returns the operands of an op, with or without the batch dim.
Values operands_of(BatchX x);

}  // namespace axle
