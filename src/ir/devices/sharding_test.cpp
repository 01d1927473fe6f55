#include "ir/devices/sharding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"
#include "testing/error_of.h"

namespace axle {
namespace {

const Mesh kCube{{{"data", 2}, {"fsdp", 2}, {"model", 2}}};

HostTensor iota(Shape shape) {
  HostTensor out(Type{DType::kI32, std::move(shape)});
  auto values = out.values<int32_t>();
  std::iota(values.begin(), values.end(), 0);
  return out;
}

TEST(ShardSlices, DevicesAreRowMajorOverTheAxes) {
  const auto slices = shard_slices({4, 6}, {{{"fsdp"}, {"model"}}}, kCube);
  ASSERT_EQ(slices.size(), 8u);
  EXPECT_EQ(slices[0], (Slice{{0, 0}, {2, 3}}));
  EXPECT_EQ(slices[1], (Slice{{0, 3}, {2, 3}}));  // model is the minor axis
  EXPECT_EQ(slices[2], (Slice{{2, 0}, {2, 3}}));
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(slices[i], slices[i + 4]);  // replicas over data
}

TEST(ShardSlices, FirstOfSeveralAxesOnADimIsMajor) {
  const auto slices = shard_slices({8}, {{{"data", "model"}}}, kCube);
  EXPECT_EQ(slices[1].start, Shape{2});  // model = 1
  EXPECT_EQ(slices[4].start, Shape{4});  // data = 1
  const auto swapped = shard_slices({8}, {{{"model", "data"}}}, kCube);
  EXPECT_EQ(swapped[1].start, Shape{4});
  EXPECT_EQ(swapped[4].start, Shape{2});
}

TEST(ShardSlices, AxesMissingFromTheMeshReplicate) {
  const auto slices = shard_slices({3}, {{{"expert"}}}, kCube);
  EXPECT_EQ(slices[7], (Slice{{0}, {3}}));
  EXPECT_EQ(shard_slices({}, {}, {}).size(), 1u);
}

TEST(ShardSlices, RefusesADimThatDoesNotDivide) {
  EXPECT_EQ(error_of([] {
              shard_slices({4, 6}, {{{}, {"data", "fsdp"}}}, kCube, "weight");
            }),
            "weight [4, 6]: dim 1 must be divisible by its mesh axes, got 6 over data=2 x fsdp=2 = "
            "4 parts; it divides into 1, 2, 3");
}

TEST(CanonicalSharding, DropsWhatDoesNotMatter) {
  const Mesh mesh{{{"data", 2}, {"model", 1}}};
  EXPECT_EQ(canonical_sharding({{{"model"}, {"data", "x"}}}, 3, mesh),
            (PartitionSpec{{{}, {"data"}, {}}}));
}

TEST(Slices, InsertedPartsGiveBackTheWhole) {
  const auto whole = iota({4, 2, 6});
  for (const PartitionSpec& spec :
       {PartitionSpec{{{"data"}}}, PartitionSpec{{{}, {"fsdp"}}},
        PartitionSpec{{{}, {}, {"model"}}}, PartitionSpec{{{"model", "data"}, {}, {"fsdp"}}}}) {
    HostTensor back(whole.type());
    for (const auto& slice : shard_slices(whole.shape(), spec, kCube))
      insert(back, slice, extract(whole, slice));
    EXPECT_EQ(back, whole) << to_text(spec);
  }
}

TEST(Slices, ExtractTakesTheNamedBox) {
  EXPECT_EQ(extract(iota({3, 4}), {{1, 2}, {2, 2}}), HostTensor({2, 2}, {6, 7, 10, 11}));
  EXPECT_EQ(extract(iota({5}), {{2}, {3}}), HostTensor({3}, {2, 3, 4}));
  EXPECT_EQ(extract(iota({}), {{}, {}}), HostTensor::scalar(0));
}

TEST(Slices, LeadingCutsAreContiguous) {
  EXPECT_TRUE(is_contiguous({{2, 0}, {2, 6}}, {4, 6}));
  EXPECT_EQ(offset_of({{2, 0}, {2, 6}}, {4, 6}), 12);
  EXPECT_FALSE(is_contiguous({{0, 3}, {4, 3}}, {4, 6}));
  EXPECT_TRUE(is_contiguous({{0, 0}, {0, 3}}, {0, 6}));
}

}  // namespace
}  // namespace axle
