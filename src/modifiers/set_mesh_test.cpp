#include <gtest/gtest.h>

#include "modifiers/mesh_modifiers.h"
#include "modifiers/tiny_root_test.h"

namespace axle {
namespace {

TEST(SetMesh, SetsTheMeshAndNothingElse) {
  EXPECT_EQ(changes_by(mesh({{"data", -1}, {"fsdp", 8}})), "mesh: '' -> data=-1,fsdp=8\n");
  EXPECT_EQ(changes_by(mesh({{"data", 8, 2}})), "mesh: '' -> data=2x4\n");
}

}  // namespace
}  // namespace axle
