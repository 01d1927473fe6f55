#include "ir/devices/sharding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/text/text.h"
#include "ir/devices/mesh.h"
#include "ir/op_rules.h"

namespace axle {
namespace {

/// Calls fn(offset in the whole, offset in the part, bytes) for each run of bytes that is
/// contiguous in both the whole tensor and the part.
template <class Fn>
void for_each_run(const Shape& dims, const Slice& slice, size_t element_bytes, Fn fn) {
  if (num_elements(slice.size) == 0) return;
  const auto strides = row_major_strides(dims);
  // A run spans all dims after the last one that the slice cuts, and its part of that dim.
  size_t inner = dims.size();
  int64_t run = 1;
  while (inner > 0 && slice.size[inner - 1] == dims[inner - 1]) run *= dims[--inner];
  if (inner > 0) run *= slice.size[--inner];
  const int64_t num_runs = num_elements(slice.size) / run;
  Shape index(inner, 0);
  const int64_t base = offset_of(slice, dims);
  for (int64_t i = 0; i < num_runs; ++i) {
    int64_t offset = base;
    for (size_t d = 0; d < inner; ++d) offset += index[d] * strides[d];
    fn(static_cast<size_t>(offset) * element_bytes, static_cast<size_t>(i * run) * element_bytes,
       static_cast<size_t>(run) * element_bytes);
    for (size_t d = inner; d-- > 0;) {
      if (++index[d] < slice.size[d]) break;
      index[d] = 0;
    }
  }
}

}  // namespace

PartitionSpec canonical_sharding(const PartitionSpec& spec, int64_t rank, const Mesh& mesh) {
  PartitionSpec out = restrict(spec, mesh);
  out.dims.resize(rank);
  return out;
}

std::vector<Slice> shard_slices(const Shape& dims, const PartitionSpec& spec, const Mesh& mesh,
                                std::string_view name) {
  check_partition(name, dims, spec, mesh);
  const auto sharding = canonical_sharding(spec, std::ssize(dims), mesh);
  Shape size = dims;
  for (size_t d = 0; d < dims.size(); ++d) {
    size[d] /= num_parts(sharding.dims[d], mesh);
  }
  const auto index_of = [&](std::string_view axis) {
    return static_cast<size_t>(std::ranges::find(mesh.axes, axis, &MeshAxis::name) -
                               mesh.axes.begin());
  };
  std::vector<Slice> out;
  for (int64_t device = 0; device < mesh.num_devices(); ++device) {
    const auto at = unravel(device, axis_sizes(mesh));
    Slice slice{Shape(dims.size(), 0), size};
    for (size_t d = 0; d < dims.size(); ++d) {
      int64_t part = 0;
      for (const auto& axis : sharding.dims[d]) part = part * mesh.size(axis) + at[index_of(axis)];
      slice.start[d] = part * size[d];
    }
    out.push_back(std::move(slice));
  }
  return out;
}

bool is_contiguous(const Slice& slice, const Shape& dims) {
  size_t runs = 0;
  for_each_run(dims, slice, 1, [&](size_t, size_t, size_t) { ++runs; });
  return runs <= 1;
}

int64_t offset_of(const Slice& slice, const Shape& dims) {
  const auto strides = row_major_strides(dims);
  int64_t offset = 0;
  for (size_t d = 0; d < dims.size(); ++d) offset += slice.start[d] * strides[d];
  return offset;
}

HostTensor extract(const HostTensor& whole, const Slice& slice) {
  HostTensor part(Type{whole.dtype(), slice.size});
  for_each_run(whole.shape(), slice, size_bytes(whole.dtype()),
               [&](size_t from, size_t to, size_t bytes) {
                 std::memcpy(part.bytes().data() + to, whole.bytes().data() + from, bytes);
               });
  return part;
}

void insert(HostTensor& whole, const Slice& slice, const HostTensor& part) {
  AXLE_CHECK(part.dtype() == whole.dtype() && part.shape() == slice.size,
             "a part of another type than its slice");
  for_each_run(whole.shape(), slice, size_bytes(whole.dtype()),
               [&](size_t to, size_t from, size_t bytes) {
                 std::memcpy(whole.bytes().data() + to, part.bytes().data() + from, bytes);
               });
}

namespace {

thread_local const ManualAxes* g_axes = nullptr;

}  // namespace

ManualAxes::ManualAxes(std::vector<MeshAxis> axes, Index index)
    : axes_(std::move(axes)), index_(std::move(index)), outer_(std::exchange(g_axes, this)) {}
ManualAxes::~ManualAxes() { g_axes = outer_; }

std::vector<MeshAxis> ManualAxes::all() {
  std::vector<MeshAxis> out;
  for (const ManualAxes* scope = g_axes; scope; scope = scope->outer_)
    out.insert(out.end(), scope->axes_.begin(), scope->axes_.end());
  return out;
}

std::vector<MeshAxis> ManualAxes::named(std::string_view op, const DimAxes& names,
                                        const Values& operands) {
  const Mesh mesh{all()};
  std::vector<MeshAxis> out;
  for (const std::string& name : names) {
    const DimAxes found = restrict(PartitionSpec{{DimAxes{name.c_str()}}}, mesh).dims[0];
    for (const std::string& axis : found) {
      const auto is_axis = [&](const MeshAxis& a) { return a.name == axis; };
      if (std::ranges::none_of(out, is_axis))
        out.push_back(*std::ranges::find_if(mesh.axes, is_axis));
    }
    const auto is_meant = [&](const MeshAxis& a) {
      return a.name == name || a.name.ends_with(":" + name);
    };
    if (!found.empty() || std::ranges::any_of(mesh.axes, is_meant)) continue;
    std::vector<std::string> known;
    for (const MeshAxis& a : mesh.axes) known.push_back(a.name);
    shape_error(
        op,
        fmt::format("expected an axis that an enclosing shard_map makes manual ({}), got '{}'; "
                    "call it inside shard_map over this axis",
                    known.empty() ? "there is none" : join(known, ", "), name),
        operands);
  }
  return out;
}

Tensor ManualAxes::index(const MeshAxis& axis) {
  for (const ManualAxes* scope = g_axes; scope; scope = scope->outer_) {
    if (std::ranges::count(scope->axes_, axis.name, &MeshAxis::name) > 0)
      return scope->index_(axis);
  }
  throw InternalError(fmt::format("axis '{}' is not manual", axis.name));
}

bool ManualAxes::contains(std::string_view axis) {
  for (const ManualAxes* scope = g_axes; scope; scope = scope->outer_) {
    if (std::ranges::count(scope->axes_, axis, &MeshAxis::name) > 0) return true;
  }
  return false;
}

}  // namespace axle
