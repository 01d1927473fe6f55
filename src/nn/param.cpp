#include "nn/param.h"

#include "nn/invocation.h"
#include "ops/create.h"
#include "ops/elementwise/convert.h"

namespace axle {

PartitionSpec ParamSpec::partition() const { return {.dims = mesh_axes}; }

Tensor Param::operator()() const {
  if (*held_) {
    const auto working = Invocation::current().options().compute_dtype;
    return zeros((*held_)->dims, compute_.value_or(working.value_or((*held_)->dtype)));
  }
  const Tensor& stored = Invocation::current().parameter(path_);
  return compute_ && is_float(stored.dtype()) ? astype(stored, *compute_) : stored;
}

}  // namespace axle
