#include "targets/device_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "base/lists.h"
#include "ir/devices/mesh.h"

namespace axle {
namespace {

using Sizes = std::vector<int64_t>;
using Indices = std::vector<size_t>;

/// Mesh axes and the dims of the box that they are mapped to, each in row-major order.
struct Placement {
  Indices axes;
  Indices dims;
};

Sizes pick(std::span<const int64_t> sizes, const Indices& which) {
  Sizes out;
  for (size_t i : which) out.push_back(sizes[i]);
  return out;
}

/// Returns the largest set of free dims whose sizes multiply to `size`; empty if there is none. Of
/// several such sets it is the one with the last dims, which vary fastest in the plugin's order.
Indices whole_dims(std::span<const int64_t> box, const Indices& free, int64_t size) {
  Indices best;
  for (uint32_t mask = 1; mask < (1u << free.size()); ++mask) {
    if (static_cast<size_t>(std::popcount(mask)) < best.size()) continue;
    Indices dims;
    for (size_t i = 0; i < free.size(); ++i) {
      if (mask >> i & 1) dims.push_back(free[i]);
    }
    if (saturating_product(pick(box, dims)) == size) best = std::move(dims);
  }
  return best;
}

std::vector<Placement> place(std::span<const int64_t> box, std::span<const int64_t> axes) {
  Indices free;
  for (size_t d = 0; d < box.size(); ++d) {
    if (box[d] > 1) free.push_back(d);
  }
  std::vector<Placement> out;
  Placement shared;
  for (size_t a = axes.size(); a-- > 0;) {
    if (axes[a] == 1) continue;
    auto dims = whole_dims(box, free, axes[a]);
    if (dims.empty()) {
      shared.axes.insert(shared.axes.begin(), a);
      continue;
    }
    std::erase_if(free, [&](size_t d) { return std::ranges::find(dims, d) != dims.end(); });
    out.push_back({{a}, std::move(dims)});
  }
  std::ranges::stable_sort(free, std::greater<>(), [&](size_t d) { return box[d]; });
  shared.dims = std::move(free);
  out.push_back(std::move(shared));
  return out;
}

/// The devices of a group as a box of links: the dims of the box, the slowest-varying first, and
/// the group's members in row-major order.
struct Box {
  Sizes dims;
  Indices members;
};
/// Returns none if the devices have no coordinates or do not fill a box.
std::optional<Box> box_of(const Topology& topology, const Indices& group) {
  const auto coords = [&](size_t member) {
    // Reversed, because x varies fastest in the order of ids.
    const auto& c = topology.devices[member].coords;
    return Sizes(c.rbegin(), c.rend());
  };
  Sizes low = coords(group[0]), high = low;
  std::map<Sizes, size_t> at;
  for (size_t member : group) {
    const Sizes c = coords(member);
    if (c.empty() || c.size() != low.size()) return std::nullopt;
    for (size_t d = 0; d < c.size(); ++d) {
      low[d] = std::min(low[d], c[d]);
      high[d] = std::max(high[d], c[d]);
    }
    at[c] = member;
  }
  Box box;
  for (size_t d = 0; d < low.size(); ++d) box.dims.push_back(high[d] - low[d] + 1);
  if (at.size() != group.size() || saturating_product(box.dims) != std::ssize(group))
    return std::nullopt;
  for (const auto& [c, member] : at) box.members.push_back(member);
  return box;
}

Indices order_within(const Topology& topology, const Indices& group, const Sizes& axes) {
  const auto box = box_of(topology, group);
  if (!box) return group;
  Indices out;
  for (size_t position : box_order(box->dims, axes)) out.push_back(box->members[position]);
  return out;
}

/// Returns the number of the device's group. Devices that the fast network joins have equal
/// numbers.
int64_t group_of(const DeviceInfo& device, FastNetwork network) {
  if (network == FastNetwork::kAll) return 0;
  return network == FastNetwork::kSlice ? device.slice : device.process;
}

/// Returns the first `n` devices, sorted by group and divided into the groups that the fast network
/// joins.
std::vector<Indices> groups_of(const Topology& topology, FastNetwork network, size_t n) {
  const auto key = [&](size_t i) { return group_of(topology.devices[i], network); };
  Indices all(topology.devices.size());
  std::iota(all.begin(), all.end(), size_t{0});
  std::ranges::stable_sort(all, std::less<>(), key);
  std::vector<Indices> out;
  for (size_t i = 0; i < n; ++i) {
    if (i == 0 || key(all[i]) != key(all[i - 1])) out.emplace_back();
    out.back().push_back(all[i]);
  }
  return out;
}

/// Returns the `across` parts for a mesh that names none: each axis, from the first on, takes the
/// greatest common divisor of its size and the groups that are left. If all groups have equal
/// size, no groups are left over.
Sizes leading_parts(const Sizes& sizes, int64_t num_groups) {
  Sizes out;
  for (int64_t size : sizes) {
    out.push_back(std::gcd(size, num_groups));
    num_groups /= out.back();
  }
  return out;
}

bool equal_sizes(const std::vector<Indices>& groups) {
  return std::ranges::all_of(groups, [&](const auto& g) { return g.size() == groups[0].size(); });
}

void check_across(const Mesh& mesh, FastNetwork network, const std::vector<Indices>& groups,
                  int64_t parts) {
  const auto num_groups = std::ssize(groups);
  const char* what = network == FastNetwork::kSlice ? "slices" : "nodes";
  if (!equal_sizes(groups)) {
    throw ConfigError(
        fmt::format("mesh {}: expected the same number of devices in each of the {} {}, got "
                    "different numbers",
                    to_text(mesh), num_groups, what));
  }
  if (num_groups % parts == 0) return;
  throw ConfigError(fmt::format(
      "mesh {}: expected across sizes whose product divides {}, the number of {}, got {}",
      to_text(mesh), num_groups, what, parts));
}

}  // namespace

std::vector<size_t> box_order(std::span<const int64_t> box, std::span<const int64_t> axes) {
  AXLE_CHECK(saturating_product(box) == saturating_product(axes), "axes that do not fill the box");
  const auto placements = place(box, axes);
  std::vector<size_t> out;
  for (int64_t i = 0; i < saturating_product(axes); ++i) {
    const Sizes at = unravel(i, axes);
    Sizes in_box(box.size(), 0);
    for (const auto& [which, dims] : placements) {
      const auto flat = ravel(pick(at, which), pick(axes, which));
      const Sizes spread = unravel(flat, pick(box, dims));
      for (size_t d = 0; d < dims.size(); ++d) in_box[dims[d]] = spread[d];
    }
    out.push_back(static_cast<size_t>(ravel(in_box, box)));
  }
  return out;
}

std::vector<size_t> device_order(const Topology& topology, const Mesh& mesh) {
  const int64_t n = mesh.num_devices();
  if (n > std::ssize(topology.devices)) {
    throw DeviceError(fmt::format("mesh: expected at most the {} devices of '{}', got a mesh of {}",
                                  topology.devices.size(), topology.platform, n));
  }
  const auto network = topology.fast_network;
  const auto groups = groups_of(topology, network, static_cast<size_t>(n));
  if (network == FastNetwork::kAll) return groups[0];

  const Sizes sizes = axis_sizes(mesh);
  Sizes across;
  for (const auto& axis : mesh.axes) across.push_back(axis.across);
  if (saturating_product(across) > 1) {
    check_across(mesh, network, groups, saturating_product(across));
  } else {
    if (!equal_sizes(groups)) return concatenate<size_t>(groups);
    across = leading_parts(sizes, std::ssize(groups));
  }
  Sizes within;
  for (size_t a = 0; a < sizes.size(); ++a) within.push_back(sizes[a] / across[a]);

  const auto groups_per_part = groups.size() / static_cast<size_t>(saturating_product(across));
  std::vector<Indices> parts;
  for (size_t g = 0; g < groups.size(); g += groups_per_part) {
    parts.push_back(groups_per_part == 1
                        ? order_within(topology, groups[g], within)
                        : concatenate<size_t>(std::span(groups).subspan(g, groups_per_part)));
  }
  std::vector<size_t> out;
  for (int64_t i = 0; i < n; ++i) {
    const Sizes at = unravel(i, sizes);
    Sizes part(at.size()), local(at.size());
    for (size_t a = 0; a < at.size(); ++a) {
      part[a] = at[a] / within[a];
      local[a] = at[a] % within[a];
    }
    out.push_back(parts[ravel(part, across)][ravel(local, within)]);
  }
  return out;
}

std::vector<int64_t> fast_groups(const Topology& topology, const Mesh& mesh) {
  const auto network = topology.fast_network;
  std::vector<int64_t> out;
  for (size_t i : device_order(topology, mesh))
    out.push_back(group_of(topology.devices[i], network));
  return out;
}

std::vector<int64_t> device_ids(const Topology& topology, const Mesh& mesh) {
  std::vector<int64_t> out;
  for (size_t i : device_order(topology, mesh)) out.push_back(topology.devices[i].id);
  return out;
}

}  // namespace axle
