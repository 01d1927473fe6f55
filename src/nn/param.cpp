#include "nn/param.h"

#include "nn/invocation.h"

namespace axle {

PartitionSpec ParamSpec::partition() const { return {.dims = mesh_axes}; }

Tensor Param::operator()() const { return Invocation::current().parameter(path_); }

}  // namespace axle
