#include "ops/collectives/along_dim.h"

#include <fmt/format.h>

#include "ir/devices/sharding.h"
#include "ops/batching.h"

namespace axle {

std::string AlongDim::text() const {
  return fmt::format("{}, dim = {}", CollectiveAttributes::text(), dim);
}

std::vector<Batched> batch_along_dim(BatchX x) {
  const auto& a = x.attrs<AlongDim>();
  return emit_batched(x, AlongDim(a.axes, a.dim + 1));
}

void check_divides(const OpNode& op, int64_t dim) {
  const int64_t size = op.attrs<CollectiveAttributes>().group_size();
  if (op.inputs[0].dim(dim) % size != 0) {
    shape_error(op, fmt::format("expected a dim {} that {} devices divide, got {}", dim, size,
                                op.inputs[0].dim(dim)));
  }
}

Type scaled(Type type, int64_t dim, int64_t factor, int64_t divisor) {
  int64_t& size = type.dims[static_cast<size_t>(dim)];
  size = size * factor / divisor;
  return type;
}

HostTensor part_along(const HostTensor& x, int64_t dim, int64_t i, int64_t n) {
  Slice slice{Shape(x.shape().size(), 0), x.shape()};
  int64_t& size = slice.size[static_cast<size_t>(dim)];
  size /= n;
  slice.start[static_cast<size_t>(dim)] = i * size;
  return extract(x, slice);
}

void put_part(HostTensor& whole, int64_t dim, int64_t i, const HostTensor& part) {
  Slice slice{Shape(part.shape().size(), 0), part.shape()};
  slice.start[static_cast<size_t>(dim)] = i * part.shape()[static_cast<size_t>(dim)];
  insert(whole, slice, part);
}

}  // namespace axle
