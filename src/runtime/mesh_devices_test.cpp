#include "runtime/mesh_devices.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "testing/error_of.h"

namespace axle {
namespace {

Mesh mesh(std::string_view text) {
  Mesh out;
  from_text(text, out);
  return out;
}

TEST(MeshDevices, NumberIsTheProductOfTheMesh) {
  EXPECT_EQ(num_mesh_devices({}), 1);
  EXPECT_EQ(num_mesh_devices(mesh("data=2,fsdp=3")), 6);
  EXPECT_EQ(num_mesh_devices(mesh("data=-1,fsdp=3")), 1);
}

TEST(MeshDevices, AreNotMoreThanAMachineHas) {
  check_device_count("mesh", 1);
  check_device_count("mesh", 1024);
  for (const int64_t count : {int64_t{-1}, int64_t{0}, int64_t{1025}, int64_t{1'000'000'000}}) {
    EXPECT_EQ(error_of([&] { check_device_count("cpu:N", count); }),
              fmt::format("cpu:N: expected 1 to 1024 devices of one machine, got {}", count));
  }
}

TEST(MeshDevices, RequestsForAbsentDevicesAreRefused) {
  const Topology two{.platform = "cuda", .platform_version = "", .devices = {{}, {}}};
  EXPECT_EQ(fit_mesh(mesh("data=-1"), two, {}), mesh("data=2"));
  EXPECT_EQ(fit_mesh(mesh("data=-1"), two, 2), mesh("data=2"));
  EXPECT_EQ(error_of([&] { fit_mesh(mesh("data=-1"), two, 8); }),
            "--devices: expected 2, the number of cuda devices here, got 8; leave out --devices");
}

}  // namespace
}  // namespace axle
