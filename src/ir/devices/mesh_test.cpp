#include "ir/devices/mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

Mesh mesh_from(std::string_view text) {
  Mesh mesh;
  from_text(text, mesh);
  return mesh;
}

TEST(MeshText, RoundTrips) {
  for (const char* text : {"", "data=8", "data=2,fsdp=-1", "data=2x4,model=8", "data=3x-1",
                           "replica:data=4,fsdp=8", "pod:data=2x2,data=4"})
    EXPECT_EQ(to_text(mesh_from(text)), text);
}

TEST(MeshText, SplitsAnAxisAcrossTheSlowNetwork) {
  const Mesh mesh = mesh_from("data=2x4,model=8");
  EXPECT_EQ(mesh.axes[0].size, 8);
  EXPECT_EQ(mesh.axes[0].across, 2);
  EXPECT_EQ(mesh.num_devices(), 64);
}

TEST(MeshText, RefusesWhatIsNoMesh) {
  for (const char* text :
       {"data", "=2", "data=0", "data=-2", "data=2x", "data=-1x4", "data=x4", "data=2x0",
        "data=2.5", "data=2=3", "data=2,", "da\"ta=2", "data=9223372036854775807x3", ":data=2",
        "replica:=2", "data:data=2", "a:b:c=2"})
    EXPECT_THAT(error_of([&] { mesh_from(text); }), HasSubstr("expected mesh axes like")) << text;
  EXPECT_THAT(error_of([&] { mesh_from("a=2,a=2"); }), HasSubstr("'a' twice"));
}

// "data" in a spec stands for all mesh axes with that role, in the mesh's order.
TEST(MeshRoles, NamedAxesDivideLikeTheirRole) {
  const Mesh mesh = mesh_from("pod:data=2,data=3,shard:fsdp=4,model=1");
  const PartitionSpec rows{{{"data", "expert", "fsdp"}, {"model"}}};
  EXPECT_EQ(restrict(rows, mesh), (PartitionSpec{{{"pod:data", "data", "shard:fsdp"}, {}}}));
  EXPECT_EQ(restrict(restrict(rows, mesh), mesh), restrict(rows, mesh));
  EXPECT_EQ(restrict(rows, {24, 5}, mesh), restrict(rows, mesh));
  EXPECT_EQ(restrict(rows, {6, 5}, mesh), (PartitionSpec{{{"pod:data", "data"}, {}}}));
  check_partition("x", {24, 5}, rows, mesh);
  EXPECT_THAT(error_of([&] {
                check_partition("x", {6, 5}, rows, mesh);
              }),
              HasSubstr("got 6 over pod:data=2 x data=3 x shard:fsdp=4 = 24 parts"));
}

TEST(PartitionText, RoundTrips) {
  for (const char* text : {"[]", "[None]", "[model]", "[None, [expert, fsdp], model]"}) {
    PartitionSpec spec;
    from_text(text, spec);
    EXPECT_EQ(to_text(spec), text);
  }
  PartitionSpec spec;
  from_text(" [ [expert,fsdp] ,None, [] ] ", spec);
  EXPECT_EQ(spec, (PartitionSpec{{{"expert", "fsdp"}, {}, {}}}));
}

TEST(PartitionText, RefusesWhatIsNoSpec) {
  for (const char* text : {"", "model", "[", "]", "[model", "[]a]", "[, model]", "[model,]",
                           "[a [b]]", "[a b]", "[[a], b]]", "[[[a]]]", "[a\"b]"}) {
    PartitionSpec spec;
    EXPECT_THAT(error_of([&] { from_text(text, spec); }), HasSubstr("expected mesh axes like"))
        << text;
  }
}

TEST(InferMesh, FillsInWhatIsLeft) {
  EXPECT_EQ(infer_mesh(mesh_from("data=-1,fsdp=4"), 32), mesh_from("data=8,fsdp=4"));
  EXPECT_EQ(infer_mesh(mesh_from("data=2x-1,fsdp=4"), 32), mesh_from("data=2x4,fsdp=4"));
  EXPECT_THAT(error_of([&] { infer_mesh(mesh_from("data=-1,fsdp=3"), 32); }),
              HasSubstr("expected sizes that divide the 32 devices, got 3 for the axes other than "
                        "data in data=-1,fsdp=3"));
  EXPECT_THAT(error_of([&] { infer_mesh(mesh_from("data=2,fsdp=4"), 32); }),
              HasSubstr("multiply to the 32 devices, got data=2,fsdp=4"));
  EXPECT_THAT(error_of([&] {
                infer_mesh(mesh_from("data=1000000000,fsdp=1000000000,seq=1000000000,model=-1"), 4);
              }),
              HasSubstr("expected 4 devices in all"));
  EXPECT_THAT(error_of([&] { infer_mesh({}, 8); }), HasSubstr("8 devices, got no axes"));
  EXPECT_THAT(error_of([&] { infer_mesh(mesh_from("data=3x-1,fsdp=4"), 32); }),
              HasSubstr("mesh.data: expected a size divisible by its 3 parts"));
}

TEST(Restrict, LeavesOutAxesByWhichADimDoesNotDivide) {
  const Mesh mesh = mesh_from("data=2,fsdp=4,model=8");
  EXPECT_EQ(restrict({{{"data", "fsdp"}, "model", "model"}}, {6, 8, 12}, mesh),
            (PartitionSpec{{"data", "model", {}}}));
}

TEST(CheckPartition, NamesTheDimAndItsPossibleParts) {
  const Mesh mesh = mesh_from("data=2,fsdp=4");
  EXPECT_EQ(
      error_of([&] {
        check_partition("emb/weight", {12, 6}, {{{}, {"data", "fsdp"}}}, mesh);
      }),
      "emb/weight [12, 6]: dim 1 must be divisible by its mesh axes, got 6 over data=2 x fsdp=4 = "
      "8 parts; it divides into 1, 2, 3, 6");
  EXPECT_THAT(error_of([&] {
                check_partition("w", {8, 8}, {{"data", "data"}}, mesh);
              }),
              HasSubstr("'data' twice"));
  EXPECT_THAT(error_of([&] {
                check_partition("w", {8}, {{{}, "data"}}, mesh);
              }),
              HasSubstr("at most 1 dims"));
  check_partition("w", {8, 8}, {{"fsdp", "unknown"}}, mesh);  // an axis of size 1
  EXPECT_EQ(error_of([] {
              check_partition("up/weight", {4, 6}, {{"expert", {}}}, mesh_from("expert=3"));
            }),
            "up/weight [4, 6]: dim 0, num_experts, must be divisible by its mesh axes, got 4 over "
            "expert=3 = 3 parts; it divides into 1, 2");
  // A dim that other axes may shard too counts no experts, also on a mesh without those axes.
  EXPECT_EQ(
      error_of([] {
        check_partition("up/weight", {8, 4}, {{{"expert", "fsdp"}, {}}}, mesh_from("expert=3"));
      }),
      "up/weight [8, 4]: dim 0 must be divisible by its mesh axes, got 8 over expert=3 = 3 "
      "parts; it divides into 1, 2");
}

// The error comes at once, without computing a product that overflows.
TEST(CheckPartition, SizesBeyondAnyMachineAreMistakes) {
  for (const char* text : {"data=1000000000", "data=1000000000,fsdp=1000000000"}) {
    EXPECT_THAT(error_of([&] {
                  check_partition("w", {12}, {{{"data", "fsdp"}}}, mesh_from(text));
                }),
                HasSubstr("it divides into 1, 2, 3, 4, 6, 12"));
  }
  Mesh many;
  for (const char* name : {"a", "b", "c"}) many.axes.push_back({name, int64_t{1} << 32});
  EXPECT_THAT(error_of([&] {
                check_partition("w", {0x7fffffff}, {{{"a", "b", "c"}}}, many);
              }),
              HasSubstr("9223372036854775807 parts"));
}

}  // namespace
}  // namespace axle
