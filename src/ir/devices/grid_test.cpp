#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/devices/mesh.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Grid, LastSizeCountsFastest) {
  const Mesh mesh{{{"data", 2}, {"fsdp", 3}, {"model", 4}}};
  EXPECT_THAT(axis_sizes(mesh), ElementsAre(2, 3, 4));
  EXPECT_THAT(unravel(1, axis_sizes(mesh)), ElementsAre(0, 0, 1));
  EXPECT_THAT(unravel(4, axis_sizes(mesh)), ElementsAre(0, 1, 0));
  EXPECT_THAT(unravel(23, axis_sizes(mesh)), ElementsAre(1, 2, 3));
}

TEST(Grid, PositionsAndCoordinatesAreInverse) {
  const std::vector<int64_t> sizes = {2, 3, 4};
  for (int64_t i = 0; i < 24; ++i) EXPECT_EQ(ravel(unravel(i, sizes), sizes), i);
}

TEST(Grid, GridWithoutDimsHasOnePosition) {
  EXPECT_THAT(unravel(0, {}), IsEmpty());
  EXPECT_EQ(ravel({}, {}), 0);
}

}  // namespace
}  // namespace axle
