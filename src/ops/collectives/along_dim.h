// Collectives whose devices hold parts of a tensor along one dim: what their rules share.
#pragma once

#include <string>
#include <vector>

#include "ir/host_tensor.h"
#include "ops/collectives/collective.h"

namespace axle {

/// Attributes of a collective along one dim of its operand.
struct AlongDim : CollectiveAttributes {
  AlongDim(std::vector<MeshAxis> a, int64_t d) : CollectiveAttributes(std::move(a)), dim(d) {}
  int64_t dim;
  std::string text() const override;
};
/// Batching rule of ops with AlongDim.
std::vector<Batched> batch_along_dim(BatchX x);

/// Throws ShapeError if the devices of a group do not divide this dim of the operand.
void check_divides(const OpNode& op, int64_t dim);
/// Returns the type with the size of one dim multiplied and divided.
Type scaled(Type type, int64_t dim, int64_t factor, int64_t divisor = 1);
/// Returns part i of n of x along `dim`.
HostTensor part_along(const HostTensor& x, int64_t dim, int64_t i, int64_t n);
/// Writes `part` to its place in `whole`: after i parts of its size along `dim`.
void put_part(HostTensor& whole, int64_t dim, int64_t i, const HostTensor& part);

}  // namespace axle
