#include "ir/mesh.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/checked.h"
#include "base/error.h"

namespace axle {

int64_t Mesh::num_devices() const {
  Shape sizes;
  for (const auto& axis : axes) sizes.push_back(axis.size);
  const auto n = checked_product(sizes);
  if (!n) throw ConfigError(fmt::format("mesh: expected fewer devices, got {}", to_text(*this)));
  return *n;
}

int64_t Mesh::size(std::string_view axis) const {
  for (const auto& a : axes) {
    if (a.name == axis) return a.size;
  }
  return 1;
}

bool Mesh::has(std::string_view axis) const {
  return std::ranges::find(axes, axis, &MeshAxis::name) != axes.end();
}

Mesh infer_mesh(Mesh mesh, int64_t num_devices) {
  int64_t known = 1;
  MeshAxis* inferred = nullptr;
  for (auto& axis : mesh.axes) {
    if (axis.size == -1) {
      if (inferred)
        throw ConfigError(fmt::format("mesh: at most one axis of size -1, got {} and {}",
                                      inferred->name, axis.name));
      inferred = &axis;
    } else if (axis.size < 1) {
      throw ConfigError(
          fmt::format("mesh.{}: size must be positive or -1, got {}", axis.name, axis.size));
    } else if (__builtin_mul_overflow(known, axis.size, &known)) {
      throw ConfigError(
          fmt::format("mesh: expected {} devices in all, got {}", num_devices, to_text(mesh)));
    }
  }
  if (inferred) {
    if (num_devices % known != 0) {
      throw ConfigError(
          fmt::format("mesh: expected sizes that divide the {} devices, got {} for the axes other "
                      "than {} in {}; choose others by --mesh or a mesh rule for this machine",
                      num_devices, known, inferred->name, to_text(mesh)));
    }
    inferred->size = num_devices / known;
  } else if (known != num_devices) {
    throw ConfigError(
        fmt::format("mesh: expected sizes that multiply to the {} devices, got {}; an axis of size "
                    "-1 takes what the others leave, as in data=-1",
                    num_devices, mesh.axes.empty() ? "no axes" : to_text(mesh)));
  }
  for (const auto& axis : mesh.axes) {
    if (axis.size % axis.across != 0) {
      throw ConfigError(
          fmt::format("mesh.{}: expected a size divisible by its {} parts across "
                      "slices or nodes, got {}",
                      axis.name, axis.across, axis.size));
    }
  }
  return mesh;
}

std::optional<std::string> axis_named_twice(const PartitionSpec& spec) {
  std::set<std::string> seen;
  for (const DimAxes& axes : spec.dims) {
    for (const std::string& axis : axes) {
      if (!seen.insert(axis).second) return axis;
    }
  }
  return std::nullopt;
}

namespace {

// "replica:data" is an axis that shards whatever "data" shards; "data" is its role.
std::string_view role_of(std::string_view axis) {
  const size_t colon = axis.find(':');
  return colon == axis.npos ? axis : axis.substr(colon + 1);
}

}  // namespace

PartitionSpec restrict(const PartitionSpec& spec, const Mesh& mesh) {
  PartitionSpec out;
  std::set<std::string> seen;  // an axis may be named both by itself and by its role
  for (const auto& axes : spec.dims) {
    auto& kept = out.dims.emplace_back();
    for (const auto& axis : axes) {
      for (const MeshAxis& own : mesh.axes) {
        const bool meant = own.name == axis || role_of(own.name) == axis;
        if (meant && own.size > 1 && seen.insert(own.name).second) kept.push_back(own.name);
      }
    }
  }
  return out;
}

PartitionSpec restrict(const PartitionSpec& spec, const Shape& shape, const Mesh& mesh) {
  PartitionSpec out = restrict(spec, mesh);
  for (size_t d = 0; d < out.dims.size() && d < shape.size(); ++d) {
    int64_t parts = 1;
    std::erase_if(out.dims[d], [&](const std::string& axis) {
      const int64_t more = saturating_product(parts, mesh.size(axis));
      if (shape[d] % more != 0) return true;
      parts = more;
      return false;
    });
  }
  return out;
}

namespace {
// The largest number of parts that an error message lists; nobody divides a dim into more.
constexpr int64_t kMostPartsNamed = 1 << 16;
}  // namespace

void check_partition(std::string_view name, const Shape& shape, const PartitionSpec& spec,
                     const Mesh& mesh) {
  const auto fail = [&](const std::string& what) {
    throw ConfigError(fmt::format("{} {}: {}", name, to_text(shape), what));
  };
  if (spec.dims.size() > shape.size()) {
    fail(
        fmt::format("expected mesh axes for at most {} dims, got {}", shape.size(), to_text(spec)));
  }
  if (const auto axis = axis_named_twice(spec))
    fail(fmt::format("expected each mesh axis once, got '{}' twice in {}", *axis, to_text(spec)));
  const PartitionSpec own = restrict(spec, mesh);
  for (size_t d = 0; d < own.dims.size(); ++d) {
    int64_t parts = 1;
    std::vector<std::string> sizes;
    for (const std::string& axis : own.dims[d]) {
      parts = saturating_product(parts, mesh.size(axis));
      sizes.push_back(fmt::format("{}={}", axis, mesh.size(axis)));
    }
    if (shape[d] % parts == 0) continue;
    std::vector<int64_t> fitting;
    for (int64_t n = 1; n <= std::min(parts, kMostPartsNamed); ++n) {
      if (shape[d] % n == 0) fitting.push_back(n);
    }
    fail(fmt::format(
        "dim {} must be divisible by its mesh axes, got {} over {} = {} parts; it divides into {}",
        d, shape[d], fmt::join(sizes, " x "), parts, fmt::join(fitting, ", ")));
  }
}

}  // namespace axle
