#include "targets/device_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Returns TPU slices that are boxes of x, y, z chips. x varies fastest in the order of ids, as in
/// the plugin.
Topology tpu(int64_t x, int64_t y, int64_t z, int64_t num_slices = 1) {
  Topology out{.platform = "tpu", .fast_network = FastNetwork::kSlice};
  for (int64_t s = 0; s < num_slices; ++s) {
    for (int64_t i = 0; i < x * y * z; ++i) {
      out.devices.push_back({.id = 1000 * s + i,
                             .kind = "TPU v5",
                             .process = s * x * y * z / 4 + i / 4,
                             .slice = s,
                             .coords = {i % x, i / x % y, i / (x * y)}});
    }
  }
  return out;
}

Topology gpus(int64_t nodes, int64_t per_node) {
  Topology out{.platform = "cuda", .fast_network = FastNetwork::kProcess};
  for (int64_t i = 0; i < nodes * per_node; ++i)
    out.devices.push_back({.id = i, .kind = "H100", .process = i / per_node});
  return out;
}

Topology cpus(int64_t n) {
  Topology out{.platform = "cpu"};
  for (int64_t i = 0; i < n; ++i) out.devices.push_back({.id = i, .kind = "cpu"});
  return out;
}

std::vector<size_t> first(size_t n) {
  std::vector<size_t> out(n);
  std::iota(out.begin(), out.end(), size_t{0});
  return out;
}

/// Returns the devices along one axis of the mesh, at position 0 of the other axes.
std::vector<DeviceInfo> line(const Topology& topology, const Mesh& mesh, const std::string& axis) {
  const auto order = device_order(topology, mesh);
  size_t stride = 1;
  for (size_t a = mesh.axes.size(); a-- > 0 && mesh.axes[a].name != axis;)
    stride *= static_cast<size_t>(mesh.axes[a].size);
  std::vector<DeviceInfo> out;
  for (size_t i = 0; i < static_cast<size_t>(mesh.size(axis)); ++i)
    out.push_back(topology.devices[order[i * stride]]);
  return out;
}

/// Returns the extent of the devices along x, y and z.
std::vector<int64_t> extent(const std::vector<DeviceInfo>& devices) {
  std::vector<std::set<int64_t>> seen(3);
  for (const auto& device : devices) {
    for (size_t d = 0; d < 3; ++d) seen[d].insert(device.coords[d]);
  }
  return {int64_t(seen[0].size()), int64_t(seen[1].size()), int64_t(seen[2].size())};
}

TEST(FastGroups, GroupDevicesByNodeOrSlice) {
  const std::vector<int64_t> halves = {0, 0, 0, 0, 1, 1, 1, 1};
  EXPECT_EQ(fast_groups(gpus(2, 4), {{{"data", 2}, {"fsdp", 4}}}), halves);
  EXPECT_EQ(fast_groups(tpu(2, 2, 1, 2), {{{"data", 2}, {"fsdp", 4}}}), halves);
  // The minor axis runs across the nodes, so every other position is on the other node.
  EXPECT_EQ(fast_groups(gpus(2, 4), {{{"fsdp", 4}, {"data", 2, 2}}}),
            (std::vector<int64_t>{0, 1, 0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(fast_groups(cpus(2), {{{"data", 2}}}), (std::vector<int64_t>{0, 0}));
}

TEST(DeviceOrder, VirtualDevicesKeepTheirOrder) {
  EXPECT_EQ(device_order(cpus(8), {{{"data", 2}, {"model", 4}}}), first(8));
  EXPECT_EQ(device_order(cpus(8), {{{"data", 4, 2}, {"model", 2, 2}}}), first(8));
  EXPECT_EQ(device_order(cpus(8), {{{"data", 4}}}), first(4));
  EXPECT_EQ(device_order(cpus(8), {}), first(1));
}

TEST(DeviceOrder, OneAxisOverATorusFollowsDeviceIds) {
  EXPECT_EQ(device_order(tpu(4, 4, 4), {{{"fsdp", 64}}}), first(64));
  EXPECT_EQ(device_order(tpu(2, 4, 1), {{{"fsdp", 8}}}), first(8));
}

TEST(DeviceOrder, AxesTakeWholeDimsOfATorus) {
  const Mesh mesh{{{"data", 4}, {"fsdp", 8}, {"model", 8}}};
  const auto topology = tpu(8, 8, 4);
  EXPECT_EQ(extent(line(topology, mesh, "model")), (std::vector<int64_t>{8, 1, 1}));
  EXPECT_EQ(extent(line(topology, mesh, "fsdp")), (std::vector<int64_t>{1, 8, 1}));
  EXPECT_EQ(extent(line(topology, mesh, "data")), (std::vector<int64_t>{1, 1, 4}));
}

TEST(DeviceOrder, TheLastAxisTakesAsManyDimsAsItsSizeAllows) {
  // The axis of 16 takes 4 x 4 and not the one dim of 16, because two dims have twice the links.
  const Mesh mesh{{{"data", 16}, {"model", 16}}};
  const auto topology = tpu(16, 4, 4);
  EXPECT_EQ(extent(line(topology, mesh, "model")), (std::vector<int64_t>{1, 4, 4}));
  EXPECT_EQ(extent(line(topology, mesh, "data")), (std::vector<int64_t>{16, 1, 1}));
}

TEST(DeviceOrder, AxesThatFitNoDimsShareTheRest) {
  const Mesh mesh{{{"data", 2}, {"fsdp", 32}, {"model", 4}}};
  const auto topology = tpu(8, 8, 4);
  EXPECT_EQ(extent(line(topology, mesh, "model")), (std::vector<int64_t>{1, 1, 4}));
  EXPECT_EQ(extent(line(topology, mesh, "fsdp")), (std::vector<int64_t>{8, 4, 1}));
  EXPECT_EQ(extent(line(topology, mesh, "data")), (std::vector<int64_t>{1, 2, 1}));
}

TEST(DeviceOrder, OrderContainsEachDeviceOnce) {
  for (const Mesh& mesh : {Mesh{{{"data", 2}, {"fsdp", 64}, {"model", 4}}}, Mesh{{{"a", 512}}},
                           Mesh{{{"a", 16, 2}, {"b", 32}}}, Mesh{{{"a", 4, 2}, {"b", 128}}},
                           Mesh{{{"a", 1}, {"b", 512}, {"c", 1}}}}) {
    auto order = device_order(tpu(8, 8, 4, 2), mesh);
    std::ranges::sort(order);
    EXPECT_EQ(order, first(512)) << to_text(mesh);
  }
}

TEST(DeviceOrder, MajorPartsOfAxesSpanTheSlices) {
  const auto topology = tpu(4, 4, 1, 2);
  // The major part of fsdp runs over the slices; model stays within a slice.
  const Mesh mesh{{{"fsdp", 8, 2}, {"model", 4}}};
  const auto fsdp = line(topology, mesh, "fsdp");
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(fsdp[i].slice, i < 4 ? 0 : 1);
  for (const auto& device : line(topology, mesh, "model")) EXPECT_EQ(device.slice, 0);
  EXPECT_EQ(extent(line(topology, mesh, "model")), (std::vector<int64_t>{4, 1, 1}));
  // A minor axis may run across the slices too.
  const Mesh minor{{{"fsdp", 16}, {"data", 2, 2}}};
  const auto data = line(topology, minor, "data");
  EXPECT_EQ(data[0].slice, 0);
  EXPECT_EQ(data[1].slice, 1);
}

TEST(DeviceOrder, PartMayCoverSeveralSlices) {
  const auto order = device_order(tpu(2, 2, 1, 4), {{{"data", 2, 2}, {"model", 8}}});
  EXPECT_EQ(order, first(16));
}

TEST(DeviceOrder, FirstAxesSpanTheSlicesIfNoAxisHasParts) {
  const auto topology = tpu(4, 4, 1, 2);
  const Mesh mesh{{{"data", 2}, {"fsdp", 16}}};
  EXPECT_EQ(line(topology, mesh, "data")[1].slice, 1);
  for (const auto& device : line(topology, mesh, "fsdp")) EXPECT_EQ(device.slice, 0);
  // Of the two axes, 3 slices divide only fsdp.
  EXPECT_THAT(device_order(tpu(2, 1, 1, 3), {{{"data", 2}, {"fsdp", 3}}}),
              ElementsAre(0, 2, 4, 1, 3, 5));
  // The mesh covers two slices and a half, so the devices keep their order.
  EXPECT_EQ(device_order(tpu(2, 1, 1, 3), {{{"data", 5}}}), first(5));
}

TEST(DeviceOrder, GpusAreOrderedByNodes) {
  EXPECT_EQ(device_order(gpus(4, 8), {{{"data", 4}, {"fsdp", 8}}}), first(32));
  EXPECT_EQ(device_order(gpus(4, 8), {{{"fsdp", 32}}}), first(32));
  // Devices are grouped by node, in any order that the plugin lists them in.
  auto shuffled = gpus(2, 2);
  std::swap(shuffled.devices[1], shuffled.devices[2]);
  EXPECT_THAT(device_order(shuffled, {{{"data", 2}, {"model", 2}}}), ElementsAre(0, 2, 1, 3));
  // The halves of model run across the nodes.
  EXPECT_THAT(device_order(gpus(2, 4), {{{"data", 2}, {"model", 4, 2}}}),
              ElementsAre(0, 1, 4, 5, 2, 3, 6, 7));
}

TEST(DeviceOrder, IdsComeFromTheDevices) {
  const auto ids = device_ids(tpu(2, 2, 1, 2), {{{"data", 8}}});
  EXPECT_THAT(ids, ElementsAre(0, 1, 2, 3, 1000, 1001, 1002, 1003));
}

TEST(DeviceOrder, DevicesWithoutCoordinatesKeepTheirOrder) {
  auto topology = tpu(2, 2, 2);
  for (auto& device : topology.devices) device.coords.clear();
  EXPECT_EQ(device_order(topology, {{{"data", 2}, {"model", 4}}}), first(8));
  topology = tpu(2, 2, 2);
  topology.devices[3].coords = topology.devices[4].coords;  // two cores of one chip
  EXPECT_EQ(device_order(topology, {{{"data", 4}, {"model", 2}}}), first(8));
}

TEST(DeviceOrder, TooManyDevicesAreRefused) {
  EXPECT_EQ(error_of<DeviceError>([] {
              device_order(gpus(1, 8), {{{"data", 16}}});
            }),
            "mesh: expected at most the 8 devices of 'cuda', got a mesh of 16");
}

TEST(DeviceOrder, PartsMustDivideTheSlices) {
  EXPECT_EQ(
      error_of([] {
        device_order(tpu(2, 2, 1, 3), {{{"data", 12, 2}}});
      }),
      "mesh data=2x6: expected across sizes whose product divides 3, the number of slices, got 2");
  EXPECT_THAT(error_of([] {
                device_order(gpus(1, 8), {{{"data", 8, 2}}});
              }),
              HasSubstr("divides 1, the number of nodes, got 2"));
  EXPECT_THAT(error_of([] {
                device_order(gpus(2, 8), {{{"data", 12, 2}}});
              }),
              HasSubstr("expected the same number of devices in each of the 2 nodes"));
}

TEST(BoxOrder, SplitsTheLargestDimFirst) {
  const std::vector<int64_t> box = {2, 8}, axes = {4, 4};
  // Each position of the first axis covers two positions of the dim of 8 and the whole dim of 2.
  EXPECT_THAT(box_order(box, axes),
              ElementsAre(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15));
}

}  // namespace
}  // namespace axle
