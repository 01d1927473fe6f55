#include "ops/collectives/collective.h"

#include <gmock/gmock.h>

#include "testing/error_without_lines.h"
#include "testing/op_test.h"

namespace axle {
namespace {

using testing::counting;
using testing::elements;
using ::testing::ElementsAre;

const Mesh kMesh{{{"data", 2}, {"model", 3}}};

TEST(DeviceGroups, HoldTheDevicesThatDifferAlongTheAxes) {
  EXPECT_THAT(device_groups({{"model", 3}}, kMesh),
              ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3, 4, 5)));
  EXPECT_THAT(device_groups({{"data", 2}}, kMesh),
              ElementsAre(ElementsAre(0, 3), ElementsAre(1, 4), ElementsAre(2, 5)));
  EXPECT_THAT(device_groups({{"model", 3}, {"data", 2}}, kMesh),
              ElementsAre(ElementsAre(0, 3, 1, 4, 2, 5)))
      << "in the order of the axes, not of the mesh";
}

TEST(DeviceGroups, NeedAxesOfTheMesh) {
  EXPECT_EQ(error_without_lines<ShapeError>([] {
              device_groups({{"model", 2}}, kMesh);
            }),
            "the top level: collective: expected a program over a mesh with model=2, got "
            "'data=2,model=3'");
  EXPECT_EQ(
      error_without_lines<ShapeError>([] {
        device_groups({{"seq", 2}}, kMesh);
      }),
      "the top level: collective: expected a program over a mesh with seq=2, got 'data=2,model=3'");
}

TEST(CollectiveAttributes, GroupSizeIsTheProductOfTheAxes) {
  EXPECT_EQ(CollectiveAttributes(kMesh.axes).group_size(), 6);
  EXPECT_EQ(CollectiveAttributes(kMesh.axes).text(), "axes = [data=2, model=3]");
  EXPECT_EQ(AlongDim({{"model", 3}}, 1).text(), "axes = [model=3], dim = 1");
}

TEST(AlongDim, PartsFormTheWhole) {
  const HostTensor x = counting({2, 6});
  EXPECT_THAT(elements(part_along(x, 1, 2, 3)), ElementsAre(4, 5, 10, 11));
  EXPECT_THAT(elements(part_along(x, 0, 1, 2)), ElementsAre(6, 7, 8, 9, 10, 11));
  HostTensor whole(x.type());
  for (int64_t i = 0; i < 3; ++i) put_part(whole, 1, i, part_along(x, 1, i, 3));
  EXPECT_EQ(whole, x);
}

TEST(AlongDim, ScalesOneDimOfAType) {
  const Type type{DType::kI8, {4, 6}};
  EXPECT_EQ(scaled(type, 1, 2), (Type{DType::kI8, {4, 12}}));
  EXPECT_EQ(scaled(type, 0, 1, 2), (Type{DType::kI8, {2, 6}}));
}

}  // namespace
}  // namespace axle
