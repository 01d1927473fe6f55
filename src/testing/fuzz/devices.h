// The devices of random programs: how tensors are divided among them, and collectives, each as such
// and as what it means for the parts of all devices.
#pragma once

#include <algorithm>
#include <functional>
#include <map>

#include "testing/fuzz/ops.h"
#include "testing/fuzz/program.h"

namespace axle::testing::fuzz {

/// The mesh of all random programs. Its sizes differ, so that axes cannot be mistaken.
inline const Mesh kFuzzMesh{{{"x", 2}, {"y", 3}}};

using MeshAxes = std::vector<MeshAxis>;
/// A list for each device, in row-major order over the manual axes.
using Each = std::vector<Values>;

inline size_t num_devices(const MeshAxes& axes) {
  return static_cast<size_t>(Mesh{axes}.num_devices());
}
/// Returns the position of a device along some axes, row-major over them.
inline int64_t position_along(const DimAxes& names, const MeshAxes& axes, size_t device) {
  std::map<std::string, int64_t> at;
  auto rest = static_cast<int64_t>(device);
  for (size_t i = axes.size(); i-- > 0; rest /= axes[i].size)
    at[axes[i].name] = rest % axes[i].size;
  int64_t out = 0;
  for (const std::string& name : names) out = out * Mesh{axes}.size(name) + at.at(name);
  return out;
}
/// Returns the devices of each group that communicates along `names`, in their order.
inline std::vector<std::vector<size_t>> groups_along(const DimAxes& names, const MeshAxes& axes) {
  DimAxes others;
  for (const MeshAxis& axis : axes) {
    if (std::ranges::find(names, axis.name) == names.end()) others.push_back(axis.name);
  }
  std::map<int64_t, std::map<int64_t, size_t>> found;
  for (size_t device = 0; device < num_devices(axes); ++device)
    found[position_along(others, axes, device)][position_along(names, axes, device)] = device;
  std::vector<std::vector<size_t>> out;
  for (const auto& [rest, members] : found) {
    out.emplace_back();
    for (const auto& [at, device] : members) out.back().push_back(device);
  }
  return out;
}

/// How a shard_map divides its arguments and results.
struct Division {
  DimAxes asked = {};  // the axes that its options name
  MeshAxes axes = {};  // those that it makes manual: no enclosing shard_map does
  std::vector<PartitionSpec> in = {}, out = {};
};

/// One of the ways to divide a tensor: along dim 0 over all axes, over some or over none, or along
/// two dims.
inline PartitionSpec spec_over(const MeshAxes& axes, int64_t number) {
  if (axes.empty()) return {};
  DimAxes all = names_of(axes);
  const DimAxes first{axes.front().name.c_str()}, last{axes.back().name.c_str()};
  switch (number % 6) {
    case 0:
      return {{all}};
    case 1:
      return {};
    case 2:
      return {{first}};
    case 3:
      return {{kReplicated, last}};
    case 4:
      std::ranges::reverse(all);
      return {{all}};
    default:
      return axes.size() == 1 ? PartitionSpec{{first}} : PartitionSpec{{last, first}};
  }
}

inline constexpr size_t kFirstSpec = 1, kMaxArguments = 4, kMaxResults = 3;
inline constexpr size_t kNumDivisionNumbers = kFirstSpec + kMaxArguments + kMaxResults;

/// Reads the numbers of a kShardMap step: the axes, the specs of the arguments and of the results.
inline Division division_of(const Step& step, const MeshAxes& outer, size_t num_arguments) {
  Division out;
  for (size_t i = 0; i < kFuzzMesh.axes.size(); ++i) {
    const MeshAxis& axis = kFuzzMesh.axes[i];
    const int64_t only = step.number(0) % 4 - 1;  // -1 and 2: both
    if (only >= 0 && only < 2 && only != static_cast<int64_t>(i)) continue;
    out.asked.push_back(axis.name);
    if (std::ranges::find(outer, axis.name, &MeshAxis::name) == outer.end())
      out.axes.push_back(axis);
  }
  for (size_t i = 0; i < num_arguments; ++i)
    out.in.push_back(spec_over(out.axes, step.number(kFirstSpec + i % kMaxArguments)));
  for (size_t i = 0; i < step.num_results(); ++i) {
    const size_t place = kFirstSpec + kMaxArguments + i % kMaxResults;
    out.out.push_back(spec_over(out.axes, step.number(place)));
  }
  return out;
}

/// Returns t with at least `rank` dims.
inline Tensor with_rank(const Tensor& t, size_t rank) {
  Shape shape = t.shape();
  while (shape.size() < rank) shape.push_back(1);
  return shape == t.shape() ? t : reshape(t, shape);
}
/// Returns t in a shape that the spec divides.
inline Tensor divisible(const Tensor& t, const PartitionSpec& spec) {
  Type type = with_rank(t, spec.dims.size()).type();
  for (size_t d = 0; d < spec.dims.size(); ++d) {
    const int64_t parts = num_parts(spec.dims[d], kFuzzMesh);
    type.dims[d] = (type.dims[d] + parts - 1) / parts * parts;
  }
  return fit(t, type);
}
/// Returns a device's part of a tensor.
inline Tensor part_of(Tensor whole, const PartitionSpec& spec, const MeshAxes& axes,
                      size_t device) {
  for (size_t d = 0; d < spec.dims.size(); ++d) {
    const auto dim = static_cast<int64_t>(d);
    const int64_t size = whole.dim(dim) / num_parts(spec.dims[d], kFuzzMesh);
    const int64_t at = position_along(spec.dims[d], axes, device) * size;
    whole = slice_in_dim(whole, dim, at, at + size);
  }
  return whole;
}
/// Returns the tensor of which the devices have parts; of copies, the first one.
inline Tensor whole_of(const Values& parts, const PartitionSpec& spec, const MeshAxes& axes,
                       size_t d = 0, std::vector<size_t> devices = {}) {
  if (d == 0) {
    for (size_t i = 0; i < parts.size(); ++i) devices.push_back(i);
  }
  if (d == spec.dims.size()) return parts[devices.front()];
  Values along;
  for (int64_t i = 0; i < num_parts(spec.dims[d], kFuzzMesh); ++i) {
    std::vector<size_t> at;
    for (const size_t device : devices) {
      if (position_along(spec.dims[d], axes, device) == i) at.push_back(device);
    }
    along.push_back(whole_of(parts, spec, axes, d + 1, at));
  }
  return along.size() == 1 ? along[0] : concatenate(along, static_cast<int64_t>(d));
}

/// A collective along some of the manual axes.
struct Exchange {
  enum Kind : int64_t {
    kSum,
    kMax,
    kMin,
    kMean,
    kGather,
    kGatherNewDim,
    kReduceScatter,
    kAllToAll,
    kPermute,
    kIndex,
    kIntegerSum
  };
  static constexpr int64_t kNumKinds = 11, kNumPairs = 4;
  Kind kind = kSum;
  DimAxes along = {};
  int64_t number = 0;  // dims, pairs

  /// Reads the numbers of a kCollective step.
  Exchange(const Step& step, const MeshAxes& axes)
      : kind(static_cast<Kind>(step.number(0) % kNumKinds)),
        along(names_of(axes)),
        number(step.number(2)) {
    if (axes.size() < 2) return;
    const int64_t choice = step.number(1) % 4;
    if (choice == 1) along.pop_back();
    if (choice == 2) along.erase(along.begin());
    if (choice == 3) std::ranges::reverse(along);
  }
  /// Makes equal what the devices have along `axes`.
  Exchange(const Tensor& part, const MeshAxes& axes)
      : kind(is_float(part.dtype()) ? kMean : kMax), along(names_of(axes)) {}

  int64_t size() const { return num_parts(along, kFuzzMesh); }
  int64_t dim(const Tensor& x) const { return number % x.rank(); }
  int64_t other_dim(const Tensor& x) const { return number / 3 % x.rank(); }
  DevicePairs pairs() const {
    DevicePairs out;
    for (int64_t i = 0, n = size(); i < n; ++i) {
      switch (number % kNumPairs) {
        case 0:  // around
          out.emplace_back(i, (i + 1) % n);
          break;
        case 1:  // the first gets nothing
          if (i + 1 < n) out.emplace_back(i, i + 1);
          break;
        case 2:
          out.emplace_back(i, n - 1 - i);
          break;
        default:  // one sends
          if (i == 0) out.emplace_back(0, n - 1);
      }
    }
    return out;
  }

  /// Converts the operand to what the collective takes.
  Tensor operand(const Tensor& t) const {
    if (kind == kIntegerSum) return integers(t);
    if (kind == kMax && !is_float(t.dtype())) return integers(t);
    const Tensor x = floats(t);
    if (kind == kSum) return x * 0.5;
    if (kind != kGather && kind != kReduceScatter && kind != kAllToAll) return x;
    Type type = with_dim(x).type();
    if (kind == kGather) return with_dim(x);
    int64_t& divided = type.dims[dim(with_dim(x))];
    divided = (divided + size() - 1) / size() * size();
    return fit(x, type);
  }
  /// Computes the collective inside of a shard_map.
  Tensor on_device(const Tensor& given) const {
    const Tensor x = operand(given);
    switch (kind) {
      case kSum:
      case kIntegerSum:
        return psum(x, along);
      case kMax:
        return pmax(x, along);
      case kMin:
        return pmin(x, along);
      case kMean:
        return pmean(x, along);
      case kGather:
        return spread(all_gather(x, along, dim(x)));
      case kGatherNewDim: {
        const int64_t at = number % (x.rank() + 1);
        return spread(all_gather(expand_dims(x, at), along, at));
      }
      case kReduceScatter:
        return reduce_scatter(x, along, dim(x));
      case kAllToAll:
        return spread(all_to_all(x, along, dim(x), other_dim(x)));
      case kPermute:
        return ppermute(x, along, pairs());
      case kIndex:
        return x * 0 + astype(axis_index(along), x.dtype());
    }
    return x;
  }
  /// Computes what the devices of one group get, from what each of them has.
  Values meaning(Values x) const {
    for (Tensor& t : x) t = operand(t);
    const auto size = std::ssize(x);
    const auto total = [&] {
      Tensor out = x[0];
      for (size_t i = 1; i < x.size(); ++i) out = out + x[i];
      return out;
    };
    const auto piece = [&](const Tensor& t, size_t i) {
      const int64_t length = t.dim(dim(t)) / size, at = static_cast<int64_t>(i) * length;
      return slice_in_dim(t, dim(t), at, at + length);
    };
    Values out;
    for (size_t i = 0; i < x.size(); ++i) {
      switch (kind) {
        case kSum:
        case kIntegerSum:
          out.push_back(total());
          break;
        case kMax:
          out.push_back(reduce_max(stack(x), {0}));
          break;
        case kMin:
          out.push_back(reduce_min(stack(x), {0}));
          break;
        case kMean:
          out.push_back(total() / size);
          break;
        case kGather:
          out.push_back(spread(concatenate(x, dim(x[0]))));
          break;
        case kGatherNewDim:
          out.push_back(spread(stack(x, number % (x[0].rank() + 1))));
          break;
        case kReduceScatter:
          out.push_back(piece(total(), i));
          break;
        case kAllToAll: {
          Values pieces;
          for (const Tensor& t : x) pieces.push_back(piece(t, i));
          out.push_back(spread(concatenate(pieces, other_dim(x[0]))));
          break;
        }
        case kPermute:
          out.push_back(x[i] * 0);
          for (const auto& [from, to] : pairs()) {
            if (to == static_cast<int64_t>(i)) out.back() = x[from];
          }
          break;
        case kIndex:
          out.push_back(x[i] * 0 + static_cast<double>(i));
          break;
      }
    }
    return out;
  }
  /// Computes what each device of `axes` gets, from what it has.
  Values on_all(const Values& parts, const MeshAxes& axes) const {
    Values out(parts.size());
    for (const std::vector<size_t>& group : groups_along(along, axes)) {
      Values own;
      for (const size_t device : group) own.push_back(parts[device]);
      const Values found = meaning(own);
      for (size_t i = 0; i < group.size(); ++i) out[group[i]] = found[i];
    }
    return out;
  }

 private:
  /// Returns a few elements of long dims, from all along them: programs keep tensors small.
  static Tensor spread(Tensor x) {
    for (int64_t d = 0; d < x.rank(); ++d) {
      const int64_t stride = (x.dim(d) + 3) / 4;
      if (stride > 1) x = slice_in_dim(x, d, 0, x.dim(d), stride);
    }
    return x;
  }
};

/// Returns the axes along which a result of this spec must be the same on all devices.
inline MeshAxes axes_of_copies(const PartitionSpec& spec, const MeshAxes& axes) {
  MeshAxes out;
  for (const MeshAxis& axis : axes) {
    const auto names = [&](const DimAxes& dim) {
      return std::ranges::find(dim, axis.name) != dim.end();
    };
    if (std::ranges::none_of(spec.dims, names)) out.push_back(axis);
  }
  return out;
}

}  // namespace axle::testing::fuzz
