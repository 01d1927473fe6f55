// What the collectives share: their attributes, and the groups of devices that communicate.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/devices/mesh.h"
#include "ir/hlo_builder.h"
#include "ir/host_tensor.h"
#include "ir/op_rules.h"

namespace axle {

/// Attributes of a collective over manual mesh axes. The devices of a group differ along `axes`
/// only; their order in the group is row-major.
struct CollectiveAttributes : Attributes {
  explicit CollectiveAttributes(std::vector<MeshAxis> a) : axes(std::move(a)) {}
  std::vector<MeshAxis> axes;
  /// The number of devices in a group.
  int64_t group_size() const;
  std::string text() const override;
};

/// Eval rules: returns `own` of each device of the group, in their order.
std::vector<HostTensor> of_group(const OpNode& op, const HostTensor& own);
/// Eval rules: returns the position of this device in its group.
int64_t rank_in_group(const OpNode& op);

/// Returns "replica_groups = ..., channel_handle = ..., use_global_device_ids": the StableHLO
/// attributes of a collective of `axes` in a program over the builder's mesh.
std::string mlir_groups(HloBuilder& b, const std::vector<MeshAxis>& axes);
/// The same for ops that have no attribute use_global_device_ids.
std::string mlir_groups_of_partitions(HloBuilder& b, const std::vector<MeshAxis>& axes);
/// Returns the devices of each group, by their positions in `mesh`.
std::vector<std::vector<int64_t>> device_groups(const std::vector<MeshAxis>& axes,
                                                const Mesh& mesh);

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
/// Writes `part` into `whole` at its offset along `dim`: i times its size.
void put_part(HostTensor& whole, int64_t dim, int64_t i, const HostTensor& part);

}  // namespace axle
