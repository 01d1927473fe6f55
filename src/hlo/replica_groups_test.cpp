#include "hlo/replica_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "hlo/proto_test.h"
#include "ir/devices/mesh.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Groups = ReplicaGroups;

const Mesh kCube{{{"data", 2}, {"fsdp", 2}, {"model", 2}}};
const Mesh kLong{{{"data", 2}, {"fsdp", 8}}};

TEST(ReplicaGroups, IotaListsAreReshapedTransposedAndCut) {
  // [2,4]<=[8]
  EXPECT_EQ(decode_iota_groups(iota_groups(2, 4, {8}, {0}).text()),
            (Groups{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  // [4,2]<=[4,2]T(1,0): the array's columns, cut into pairs.
  EXPECT_EQ(decode_iota_groups(iota_groups(4, 2, {4, 2}, {1, 0}).text()),
            (Groups{{0, 2}, {4, 6}, {1, 3}, {5, 7}}));
  // [4,2]<=[2,2,2]T(2,1,0)
  EXPECT_EQ(decode_iota_groups(iota_groups(4, 2, {2, 2, 2}, {2, 1, 0}).text()),
            (Groups{{0, 4}, {2, 6}, {1, 5}, {3, 7}}));
}

ProtoWriter axis(std::string_view name, uint64_t size) {
  ProtoWriter out;
  return out.bytes(fields::kAxisName, name).varint(fields::kAxisSize, size);
}
ProtoWriter axis_ref(uint64_t axis, uint64_t pre_size = 0, uint64_t size = 0) {
  ProtoWriter out, part;
  out.varint(fields::kAxisIndex, axis);
  if (size > 0) {
    part.varint(fields::kPreSize, pre_size).varint(fields::kSubAxisSize, size);
    out.message(fields::kSubAxis, part);
  }
  return out;
}
ProtoWriter mesh_groups(const ProtoWriter& mesh, const std::vector<ProtoWriter>& refs) {
  ProtoWriter out;
  out.message(fields::kMesh, mesh);
  for (const ProtoWriter& ref : refs) out.message(fields::kAxes, ref);
  return out;
}

TEST(ReplicaGroups, MeshAxesGroupTheDevicesThatAgreeInTheOthers) {
  ProtoWriter mesh;
  mesh.message(fields::kMeshAxes, axis("a", 2)).message(fields::kMeshAxes, axis("b", 4));
  EXPECT_EQ(decode_mesh_groups(mesh_groups(mesh, {axis_ref(0)}).text()),
            (Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(decode_mesh_groups(mesh_groups(mesh, {axis_ref(1)}).text()),
            (Groups{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(decode_mesh_groups(mesh_groups(mesh, {axis_ref(0), axis_ref(1)}).text()),
            (Groups{{0, 1, 2, 3, 4, 5, 6, 7}}));
  // "b":(1)2 is the major half of b, "b":(2)2 the minor one.
  EXPECT_EQ(decode_mesh_groups(mesh_groups(mesh, {axis_ref(1, 1, 2)}).text()),
            (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  EXPECT_EQ(decode_mesh_groups(mesh_groups(mesh, {axis_ref(0), axis_ref(1, 2, 2)}).text()),
            (Groups{{0, 1, 4, 5}, {2, 3, 6, 7}}));
}

TEST(ReplicaGroups, MeshesMayPermuteTheirDevices) {
  ProtoWriter listed = ProtoWriter()
                           .message(fields::kMeshAxes, axis("a", 2))
                           .message(fields::kMeshAxes, axis("b", 2));
  ProtoWriter transposed = listed, transform;
  listed.packed(fields::kDeviceIds, {3, 1, 2, 0});
  transform.packed(fields::kTransformDims, {2, 2}).packed(fields::kTransformPerm, {1, 0});
  transposed.message(fields::kIotaTransform, transform);
  EXPECT_EQ(decode_mesh_groups(mesh_groups(listed, {axis_ref(1)}).text()),
            (Groups{{3, 1}, {2, 0}}));
  EXPECT_EQ(decode_mesh_groups(mesh_groups(transposed, {axis_ref(1)}).text()),
            (Groups{{0, 2}, {1, 3}}));
}

TEST(ReplicaGroups, InvalidGroupListsAreRefused) {
  EXPECT_THROW(decode_iota_groups(iota_groups(2, 2, {8}, {0}).text()), DataError);
  EXPECT_THROW(decode_iota_groups(iota_groups(4, 2, {4, 2}, {1, 1}).text()), DataError);
  EXPECT_THROW(decode_iota_groups(iota_groups(4, 2, {4, 2}, {0}).text()), DataError);
  EXPECT_THROW(decode_iota_groups(iota_groups(1 << 20, 1 << 20, {1 << 20, 1 << 20}, {0, 1}).text()),
               DataError);
  EXPECT_THROW(decode_iota_groups(iota_groups(0, 0, {0}, {0}).text()), DataError);
  ProtoWriter mesh;
  mesh.message(fields::kMeshAxes, axis("a", 6));
  EXPECT_THROW(decode_mesh_groups(mesh_groups(mesh, {axis_ref(1)}).text()), DataError);
  EXPECT_THROW(decode_mesh_groups(mesh_groups(mesh, {axis_ref(0, 4, 2)}).text()), DataError);
  EXPECT_THROW(decode_mesh_groups(
                   mesh_groups(mesh.packed(fields::kDeviceIds, {0, 1}), {axis_ref(0)}).text()),
               DataError);
}

TEST(ReplicaGroups, AxesAreFoundFromTheDevicesOfAGroup) {
  EXPECT_THAT(axes_of(Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}}, kCube), ElementsAre("model"));
  EXPECT_THAT(axes_of(Groups{{0, 2}, {4, 6}, {1, 3}, {5, 7}}, kCube), ElementsAre("fsdp"));
  EXPECT_THAT(axes_of(Groups{{4, 0}, {6, 2}, {5, 1}, {7, 3}}, kCube), ElementsAre("data"));
  EXPECT_THAT(axes_of(Groups{{0, 1, 4, 5}, {2, 3, 6, 7}}, kCube), ElementsAre("data", "model"));
  EXPECT_THAT(axes_of(Groups{{0, 1, 2, 3, 4, 5, 6, 7}}, kCube),
              ElementsAre("data", "fsdp", "model"));
  EXPECT_THAT(axes_of(Groups{{0}, {1}}, kCube), IsEmpty());
  EXPECT_THAT(axes_of(Groups{}, kCube), IsEmpty());
}

TEST(ReplicaGroups, PartsOfAnAxisReadAsShardyWritesThem) {
  EXPECT_THAT(axes_of(Groups{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}}, kLong),
              ElementsAre("fsdp:(2)4"));
  EXPECT_THAT(axes_of(Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}}, kLong), ElementsAre("fsdp:(1)2"));
  EXPECT_THAT(axes_of(Groups{{0, 2, 8, 10}}, kLong), ElementsAre("data", "fsdp:(2)2"));
}

TEST(ReplicaGroups, IrregularGroupsAreShownAsLists) {
  EXPECT_THAT(axes_of(Groups{{0, 3}, {1, 2}}, kCube), ElementsAre("{{0,3},{1,2}}"));
  EXPECT_THAT(axes_of(Groups{{0, 1}, {2, 4}}, kCube), ElementsAre("{{0,1},{2,4}}"));
  EXPECT_THAT(axes_of(Groups{{7, 8}}, kCube), ElementsAre("{{7,8}}"));
  EXPECT_THAT(axes_of(Groups{{0, 1, 3}}, kLong), ElementsAre("{{0,1,3}}"));
  EXPECT_THAT(axes_of(Groups(20, {0, 9}), Mesh{}), ElementsAre(::testing::EndsWith("...}")));
}

TEST(ReplicaGroups, APermuteRunsAlongTheAxesThatItChanges) {
  EXPECT_THAT(axes_of(SourceTargets{{0, 1}, {1, 0}}, kCube), ElementsAre("model"));
  EXPECT_THAT(axes_of(SourceTargets{{0, 6}, {1, 1}}, kCube), ElementsAre("data", "fsdp"));
  EXPECT_THAT(axes_of(SourceTargets{{3, 3}}, kCube), IsEmpty());
  EXPECT_THAT(axes_of(SourceTargets{{0, 8}}, kCube), ElementsAre("{{0,8},...}"));
}

}  // namespace
}  // namespace axle
