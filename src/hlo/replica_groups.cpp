#include "hlo/replica_groups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/error.h"
#include "hlo/module.h"
#include "io/proto.h"
#include "ir/devices/mesh.h"

namespace axle {
namespace {

namespace group_fields = hlo_fields;

using Ints = std::vector<int64_t>;

// More devices than any machine has. The bound keeps damaged bytes from allocating all memory.
constexpr int64_t kMaxDevices = 1 << 22;

[[noreturn]] void malformed(std::string_view what, const std::string& got) {
  throw DataError(fmt::format("replica groups: expected {}, got {}", what, got));
}

int64_t device_count(const Ints& sizes) {
  int64_t n = 1;
  for (const int64_t size : sizes) {
    if (size < 1 || size > kMaxDevices / n)
      malformed(fmt::format("sizes of at most {} devices", kMaxDevices),
                fmt::format("[{}]", fmt::join(sizes, ",")));
    n *= size;
  }
  return n;
}

// Returns iota(n) reshaped to `dims`, transposed by `perm` and flattened.
Ints transposed_iota(const Ints& dims, const Ints& perm) {
  const int64_t n = device_count(dims);
  Ints sorted = perm;
  std::ranges::sort(sorted);
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<int64_t>(i))
      malformed("a permutation", fmt::format("[{}]", fmt::join(perm, ",")));
  }
  if (perm.size() != dims.size())
    malformed(fmt::format("a permutation of {} dims", dims.size()), fmt::format("{}", perm.size()));
  Ints transposed;
  for (const int64_t d : perm) transposed.push_back(dims[d]);
  Ints out;
  for (int64_t i = 0; i < n; ++i) {
    const Ints at = unravel(i, transposed);
    Ints from(at.size());
    for (size_t d = 0; d < at.size(); ++d) from[perm[d]] = at[d];
    out.push_back(ravel(from, dims));
  }
  return out;
}

// An axis of XLA's mesh or, as in Shardy, its sub-axis of `size` with `pre_size`.
struct AxisRef {
  int64_t axis = 0, pre_size = 1, size = 0;
};

AxisRef decode_axis_ref(std::string_view message, const Ints& sizes) {
  AxisRef out;
  ProtoReader reader(message, "AxisRefProto");
  while (const auto field = reader.next()) {
    if (field->number == group_fields::kAxisIndex) out.axis = field->varint();
    if (field->number != group_fields::kSubAxis) continue;
    ProtoReader sub_axis(field->bytes(), "AxisRefProto.SubAxis");
    while (const auto part = sub_axis.next()) {
      if (part->number == group_fields::kPreSize) out.pre_size = part->varint();
      if (part->number == group_fields::kSubAxisSize) out.size = part->varint();
    }
  }
  if (out.axis < 0 || out.axis >= std::ssize(sizes))
    malformed(fmt::format("one of {} axes", sizes.size()), fmt::format("axis {}", out.axis));
  const int64_t whole = sizes[out.axis];
  if (out.size == 0) out.size = whole;
  const bool fits = out.pre_size > 0 && out.size > 0 && out.pre_size <= whole &&
                    out.size <= whole && whole % (out.pre_size * out.size) == 0;
  if (!fits)
    malformed(fmt::format("part of an axis of {}", whole),
              fmt::format("({}){}", out.pre_size, out.size));
  return out;
}

int64_t decode_axis_size(std::string_view message) {
  int64_t size = 0;
  ProtoReader reader(message, "MeshProto.MeshAxis");
  while (const auto field = reader.next()) {
    if (field->number == group_fields::kAxisSize) size = field->varint();
  }
  return size;
}

struct XlaMesh {
  Ints sizes, devices;
};

XlaMesh decode_mesh(std::string_view message) {
  XlaMesh out;
  Ints dims, perm;
  ProtoReader reader(message, "MeshProto");
  while (const auto field = reader.next()) {
    if (field->number == group_fields::kMeshAxes)
      out.sizes.push_back(decode_axis_size(field->bytes()));
    if (field->number == group_fields::kDeviceIds) field->append_to(out.devices);
    if (field->number != group_fields::kIotaTransform) continue;
    ProtoReader transform(field->bytes(), "MeshProto.IotaTransform");
    while (const auto part = transform.next()) {
      if (part->number == group_fields::kTransformDims) part->append_to(dims);
      if (part->number == group_fields::kTransformPerm) part->append_to(perm);
    }
  }
  const int64_t n = device_count(out.sizes);
  if (out.devices.empty()) {
    if (dims.empty()) dims = {n}, perm = {0};
    out.devices = transposed_iota(dims, perm);
  }
  if (std::ssize(out.devices) != n)
    malformed(fmt::format("{} devices of the mesh", n), fmt::format("{}", out.devices.size()));
  return out;
}

bool in_mesh(int64_t device, const Mesh& mesh) {
  return device >= 0 && device < mesh.num_devices();
}

// Returns the axes that one group runs along; none if the group is not a product of equally spaced
// positions along axes.
std::optional<std::vector<std::string>> axes_of_group(const Ints& group, const Mesh& mesh) {
  std::vector<Ints> along(mesh.axes.size());
  for (const int64_t device : group) {
    if (!in_mesh(device, mesh)) return std::nullopt;
    const Ints at = unravel(device, axis_sizes(mesh));
    for (size_t d = 0; d < at.size(); ++d) along[d].push_back(at[d]);
  }
  std::vector<std::string> out;
  int64_t explained = 1;
  for (size_t d = 0; d < along.size(); ++d) {
    Ints& at = along[d];
    std::ranges::sort(at);
    at.erase(std::unique(at.begin(), at.end()), at.end());
    const auto count = std::ssize(at);
    if (count < 2) continue;
    const int64_t stride = at[1] - at[0], whole = mesh.axes[d].size;
    for (size_t i = 1; i < at.size(); ++i) {
      if (at[i] - at[i - 1] != stride) return std::nullopt;
    }
    if (whole % (count * stride) != 0) return std::nullopt;
    explained *= count;
    out.push_back(count == whole ? mesh.axes[d].name
                                 : fmt::format("{}:({}){}", mesh.axes[d].name,
                                               whole / (count * stride), count));
  }
  if (explained != std::ssize(group)) return std::nullopt;
  return out;
}

std::string groups_text(const ReplicaGroups& groups) {
  constexpr size_t kLongest = 60;
  std::string out = "{";
  for (const Ints& group : groups) {
    out += fmt::format("{}{{{}}}", out.size() > 1 ? "," : "", fmt::join(group, ","));
    if (out.size() > kLongest) return out.substr(0, kLongest) + "...}";
  }
  return out + "}";
}

}  // namespace

std::vector<int64_t> decode_group(std::string_view replica_group) {
  Ints out;
  ProtoReader reader(replica_group, "ReplicaGroup");
  while (const auto field = reader.next()) {
    if (field->number == group_fields::kReplicaIds) field->append_to(out);
  }
  return out;
}

ReplicaGroups decode_iota_groups(std::string_view message) {
  int64_t count = 0, size = 0;
  Ints dims, perm;
  ProtoReader reader(message, "IotaReplicaGroupListProto");
  while (const auto field = reader.next()) {
    if (field->number == group_fields::kNumGroups) count = field->varint();
    if (field->number == group_fields::kGroupSize) size = field->varint();
    if (field->number == group_fields::kReshapeDims) field->append_to(dims);
    if (field->number == group_fields::kTransposePerm) field->append_to(perm);
  }
  const Ints devices = transposed_iota(dims, perm);
  if (device_count({count, size}) != std::ssize(devices))
    malformed(fmt::format("{} groups of {} devices", count, size),
              fmt::format("{}", devices.size()));
  ReplicaGroups out;
  for (auto at = devices.begin(); at != devices.end(); at += size) out.emplace_back(at, at + size);
  return out;
}

ReplicaGroups decode_mesh_groups(std::string_view message) {
  XlaMesh mesh;
  std::vector<std::string_view> refs;
  ProtoReader reader(message, "MeshAxesReplicaGroupListProto");
  while (const auto field = reader.next()) {
    if (field->number == group_fields::kMesh) mesh = decode_mesh(field->bytes());
    if (field->number == group_fields::kAxes) refs.push_back(field->bytes());
  }
  std::vector<AxisRef> grouped;
  for (const std::string_view ref : refs) grouped.push_back(decode_axis_ref(ref, mesh.sizes));
  // Devices form a group if their coordinates are equal except along the grouped (sub-)axes, which
  // are set to 0 here.
  std::map<Ints, Ints> groups;
  for (size_t i = 0; i < mesh.devices.size(); ++i) {
    Ints at = unravel(static_cast<int64_t>(i), mesh.sizes);
    for (const AxisRef& ref : grouped) {
      const auto d = static_cast<size_t>(ref.axis);
      const int64_t weight = mesh.sizes[d] / (ref.pre_size * ref.size);
      at[d] -= at[d] / weight % ref.size * weight;
    }
    groups[at].push_back(mesh.devices[i]);
  }
  ReplicaGroups out;
  for (auto& [at, devices] : groups) out.push_back(std::move(devices));
  return out;
}

std::vector<std::string> axes_of(const ReplicaGroups& groups, const Mesh& mesh) {
  std::optional<std::vector<std::string>> common;
  for (const Ints& group : groups) {
    auto axes = axes_of_group(group, mesh);
    if (!axes || (common && *common != *axes)) return {groups_text(groups)};
    common = std::move(axes);
  }
  return common.value_or(std::vector<std::string>{});
}

std::vector<std::string> axes_of(const SourceTargets& pairs, const Mesh& mesh) {
  const Ints sizes = axis_sizes(mesh);
  std::vector<bool> moves(sizes.size());
  for (const auto& [source, target] : pairs) {
    if (!in_mesh(source, mesh) || !in_mesh(target, mesh))
      return {fmt::format("{{{{{},{}}},...}}", source, target)};
    const Ints from = unravel(source, sizes), to = unravel(target, sizes);
    for (size_t d = 0; d < from.size(); ++d) moves[d] = moves[d] || from[d] != to[d];
  }
  std::vector<std::string> out;
  for (size_t d = 0; d < moves.size(); ++d) {
    if (moves[d]) out.push_back(mesh.axes[d].name);
  }
  return out;
}

}  // namespace axle
