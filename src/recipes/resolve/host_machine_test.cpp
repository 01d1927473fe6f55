#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/file.h"
#include "recipes/resolve/check_recipe.h"
#include "testing/environment_change.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::MatchesRegex;

TEST(HostMachine, CpuIsNamedByItsCores) {
  EXPECT_THAT(host_machine(), MatchesRegex("cpu-[0-9]+"));
  EXPECT_EQ(host_machine("interpreter"), host_machine("cpu"));
}

TEST(HostMachine, GpusAreReadFromTheDriversTable) {
  const TempDir proc;
  EXPECT_EQ(host_machine("cuda", proc.path()), "cuda-unknown");
  for (const char* gpu : {"0000:18:00.0", "0000:2a:00.0"}) {
    const auto folder = proc.path() / "driver/nvidia/gpus" / gpu;
    make_directories(folder);
    replace_file(folder / "information", "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 16\n");
  }
  EXPECT_EQ(host_machine("cuda", proc.path()), "gpu-H100-2");
}

TEST(HostMachine, TpusAreReadFromTheCloudsVariable) {
  EnvironmentChange type("TPU_ACCELERATOR_TYPE", std::nullopt);
  EXPECT_EQ(host_machine("tpu"), "tpu-unknown");
  type.set("v5p-8");
  EXPECT_EQ(host_machine("tpu"), "tpu-v5p-8");
}

TEST(HostMachine, TrainiumIsReadFromTheCloudsMachine) {
  const TempDir dmi;
  EXPECT_EQ(host_machine("neuron", "/proc", dmi.path()), "neuron-unknown");
  replace_file(dmi.path() / "product_name", "trn2.48xlarge\n");
  EXPECT_EQ(host_machine("neuron", "/proc", dmi.path()), "neuron-trn2.48xlarge-64");
  EXPECT_EQ(host_machine("rocm", "/proc", dmi.path()), "rocm-unknown");
}

}  // namespace
}  // namespace axle
