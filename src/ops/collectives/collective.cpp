#include "ops/collectives/collective.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "ir/devices/mesh.h"
#include "ir/devices/sharding.h"
#include "ir/devices/simulated_devices.h"
#include "ir/op_rules.h"
#include "ops/rules.h"

namespace axle {

int64_t CollectiveAttributes::group_size() const { return Mesh{axes}.num_devices(); }

std::string CollectiveAttributes::text() const {
  std::vector<std::string> out;
  for (const MeshAxis& axis : axes) out.push_back(fmt::format("{}={}", axis.name, axis.size));
  return fmt::format("axes = [{}]", fmt::join(out, ", "));
}

std::vector<HostTensor> of_group(const OpNode& op, const HostTensor& own) {
  return SimulatedDevice::current().all_of(op, op.attrs<CollectiveAttributes>().axes, own);
}
int64_t rank_in_group(const OpNode& op) {
  return SimulatedDevice::current().rank(op.attrs<CollectiveAttributes>().axes);
}

std::vector<std::vector<int64_t>> device_groups(const std::vector<MeshAxis>& axes,
                                                const Mesh& mesh) {
  const std::vector<int64_t> sizes = axis_sizes(mesh);
  std::vector<size_t> own;  // positions of `axes` in the mesh
  for (const MeshAxis& axis : axes) {
    const auto it = std::ranges::find(mesh.axes, axis.name, &MeshAxis::name);
    if (it == mesh.axes.end() || it->size != axis.size) {
      shape_error("collective", fmt::format("expected a program over a mesh with {}={}, got '{}'",
                                            axis.name, axis.size, to_text(mesh)));
    }
    own.push_back(static_cast<size_t>(it - mesh.axes.begin()));
  }
  // By the positions along the other axes; within a group, by those along `axes` in their order.
  std::map<std::vector<int64_t>, std::map<std::vector<int64_t>, int64_t>> groups;
  for (int64_t device = 0; device < mesh.num_devices(); ++device) {
    std::vector<int64_t> others = unravel(device, sizes), inside;
    for (const size_t i : own) inside.push_back(std::exchange(others[i], 0));
    groups[others][inside] = device;
  }
  std::vector<std::vector<int64_t>> out;
  for (const auto& [others, members] : groups) {
    out.emplace_back();
    for (const auto& [inside, device] : members) out.back().push_back(device);
  }
  return out;
}

std::string mlir_groups_of_partitions(HloBuilder& b, const std::vector<MeshAxis>& axes) {
  const auto groups = device_groups(axes, b.mesh());
  return fmt::format(
      "channel_handle = #stablehlo.channel_handle<handle = {}, type = 1>, "
      "replica_groups = dense<{}> : tensor<{}x{}xi64>",
      b.next_channel(), groups, groups.size(), groups[0].size());
}

std::string mlir_groups(HloBuilder& b, const std::vector<MeshAxis>& axes) {
  return mlir_groups_of_partitions(b, axes) + ", use_global_device_ids";
}

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
  int64_t& size = type.dims[dim];
  size = size * factor / divisor;
  return type;
}

HostTensor part_along(const HostTensor& x, int64_t dim, int64_t i, int64_t n) {
  Slice slice{Shape(x.shape().size(), 0), x.shape()};
  int64_t& size = slice.size[dim];
  size /= n;
  slice.start[dim] = i * size;
  return extract(x, slice);
}

void put_part(HostTensor& whole, int64_t dim, int64_t i, const HostTensor& part) {
  Slice slice{Shape(part.shape().size(), 0), part.shape()};
  slice.start[dim] = i * part.shape()[dim];
  insert(whole, slice, part);
}

}  // namespace axle
