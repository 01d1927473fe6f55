#include "targets/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

std::string error_of(std::string_view text) {
  try {
    return "no error: " + to_text(parse_target(text));
  } catch (const ConfigError& error) {
    return error.what();
  }
}

TEST(Accelerators, EveryRowIsComplete) {
  for (const Accelerator& row : accelerators()) {
    EXPECT_EQ(find_accelerator(row.name), &row);
    if (row.name == "cpu") continue;
    EXPECT_GT(row.memory_bytes, int64_t{10} << 30) << row.name;
    EXPECT_GT(row.peak_bf16_flops, 9e13) << row.name;
    EXPECT_GT(row.memory_bandwidth, 4e11) << row.name;
    // Peak and bandwidth are roughly proportional, so a wrong power of ten fails here.
    EXPECT_GT(row.peak_bf16_flops / row.memory_bandwidth, 100) << row.name;
    EXPECT_LT(row.peak_bf16_flops / row.memory_bandwidth, 600) << row.name;
    EXPECT_EQ(row.fast_network > 0, row.platform != "neuron") << row.name;
    EXPECT_EQ(row.slow_network > 0, row.platform != "neuron") << row.name;
    EXPECT_GE(row.fast_network, row.slow_network) << row.name;
    EXPECT_LT(row.fast_network, row.memory_bandwidth) << row.name;
    EXPECT_EQ(row.description.empty(), row.platform != "cuda") << row.name;
    EXPECT_EQ(row.slice_shapes.empty(), row.platform != "tpu") << row.name;
  }
  EXPECT_EQ(find_accelerator("v5"), nullptr);
}

TEST(Accelerators, GpusAreDescribed) {
  const std::string h100 = find_accelerator("h100")->description;
  EXPECT_NE(h100.find("device_memory_size: 84942979072 "), std::string::npos) << h100;
  EXPECT_NE(h100.find("cuda_compute_capability { major: 9 "), std::string::npos);
  const std::string h200 = find_accelerator("h200")->description;
  EXPECT_NE(h200.find("device_memory_size: 150108897280 "), std::string::npos);
  EXPECT_NE(h200.find("core_count: 132 "), std::string::npos);
  // The name that NVIDIA's driver reports: a saved executable only loads if the names agree.
  EXPECT_NE(h200.find("device_description_str: \"NVIDIA H200\"\n"), std::string::npos);
  EXPECT_NE(find_accelerator("a100")->description.find("clock_rate_ghz: 1.41\n"),
            std::string::npos);
}

TEST(ParseTarget, MachineTypesHaveTheirPublishedShapes) {
  const std::pair<const char*, const char*> cases[] = {
      {"tpu-v5p-8", "tpu:v5p:2x2x1"},
      {"tpu-v5p-512", "tpu:v5p:4x8x8"},
      {"tpu-v5p-1024", "tpu:v5p:8x8x8"},
      {"tpu-v5p-1408", "tpu:v5p:4x4x44"},
      {"tpu-v5p-1536", "tpu:v5p:8x8x12"},
      {"tpu-v5p-12288", "tpu:v5p:16x16x24"},
      {"tpu-v4-8192", "tpu:v4:16x16x16"},
      {"tpu-v5litepod-8", "tpu:v5e:2x4"},
      {"tpu-v5litepod-256", "tpu:v5e:16x16"},
      {"tpu-v5litepod-256-4", "tpu:v5e:16x16:4"},
      {"tpu-v6e-128", "tpu:v6e:8x16"},
      {"gpu-H100-8", "gpu:h100:1x8"},
      {"gpu-H100-4", "gpu:h100:1x4"},
      {"gpu-H100-256", "gpu:h100:32x8"},
      {"gpu-A100-16", "gpu:a100:2x8"},
      {"gpu-MI300X-8", "gpu:mi300x:1x8"},
      {"neuron-trn2.48xlarge-128", "neuron:trn2:2x64"},
      {"cpu-8", "cpu:8"},
  };
  for (const auto& [machine, text] : cases) {
    const Target target = parse_target(machine);
    EXPECT_EQ(to_text(target), text);
    EXPECT_EQ(target.machine(), machine);
    EXPECT_EQ(to_text(parse_target(text)), text);
    EXPECT_EQ(parse_target(text).machine(), machine);
  }
  EXPECT_EQ(parse_target("tpu-v5p-512").num_devices(), 256);
  EXPECT_EQ(parse_target("tpu-v5litepod-256-4").num_devices(), 1024);
  EXPECT_EQ(parse_target("gpu-H100-256").num_devices(), 256);
}

TEST(ParseTarget, EquivalentTextsAreCanonical) {
  EXPECT_EQ(to_text(parse_target("tpu:v5p:8x8x4")), "tpu:v5p:4x8x8");
  EXPECT_EQ(to_text(parse_target("tpu:v5p:1x2x2")), "tpu:v5p:2x2x1");
  EXPECT_EQ(to_text(parse_target("TPU:V5E:4x2:1")), "tpu:v5e:2x4");
  EXPECT_EQ(parse_target("gpu-h100-8").machine(), "gpu-H100-8");
  EXPECT_EQ(parse_target("tpu-v5e-256").machine(), "tpu-v5litepod-256");
  EXPECT_EQ(parse_target("TPU-V5E-256-4").machine(), "tpu-v5litepod-256-4");
  EXPECT_EQ(parse_target("neuron-TRN2-64").machine(), "neuron-trn2.48xlarge-64");
  EXPECT_EQ(to_text(parse_target("tpu:v5e:2X4")), "tpu:v5e:2x4");
  // A shape that a machine type with this number of devices would not have.
  EXPECT_EQ(to_text(parse_target("tpu:v5p:4x4x16")), "tpu:v5p:4x4x16");
  EXPECT_EQ(to_text(parse_target("gpu:h100:4x2")), "gpu:h100:4x2");
}

TEST(ParseTarget, NamesTheNearestOfWhatItDoesNotKnow) {
  EXPECT_EQ(error_of("gpu-H1000-8"),
            "target 'gpu-H1000-8': no such machine type 'gpu-H1000'; did you mean 'gpu-H100'? "
            "(machine types: cpu-N, tpu-v4-N, tpu-v5litepod-N, tpu-v5p-N, tpu-v6e-N, gpu-A100-N, "
            "gpu-H100-N, gpu-H200-N, gpu-B200-N, gpu-MI300X-N, neuron-trn1.32xlarge-N, "
            "neuron-trn2.48xlarge-N)");
  EXPECT_EQ(error_of("tpu:v5l:2x4"),
            "target 'tpu:v5l:2x4': no such accelerator 'v5l'; did you mean 'v5e' or 'v5p'? (of "
            "kind tpu: v4, v5e, v5p, v6e)");
  EXPECT_EQ(error_of("tpu:h100:1x8"),
            "target 'tpu:h100:1x8': no such accelerator 'h100'; did you mean 'gpu:h100'? (of kind "
            "tpu: v4, v5e, v5p, v6e)");
  EXPECT_EQ(error_of("gpi:h100:1x8"),
            "target 'gpi:h100:1x8': no such kind of machine 'gpi'; did you mean 'gpu'? (kinds: "
            "cpu, tpu, gpu, neuron)");
  for (const auto& [text, meant] : {std::pair("H100", "gpu-H100-N"),
                                    {"v5p", "tpu-v5p-N"},
                                    {"v5e-16", "tpu-v5litepod-16"},
                                    {"v5E-16-2", "tpu-v5litepod-16-2"},
                                    {"a100-8", "gpu-A100-8"}}) {
    EXPECT_THAT(error_of(text), HasSubstr(std::string("; did you mean '") + meant + "'? (machine"));
  }
  EXPECT_EQ(error_of("tpu-v5e"),
            "target 'tpu-v5e': expected a number of devices, as in 'tpu-v5e-8'");
  EXPECT_EQ(error_of("gpu-H100"),
            "target 'gpu-H100': expected a number of devices, as in 'gpu-H100-8'");
  EXPECT_EQ(error_of("gpu-H100-many"),
            "target 'gpu-H100-many': expected a number of devices, got 'many'");
}

TEST(ParseTarget, SaysWhichSizesExist) {
  EXPECT_EQ(error_of("tpu-v5p-100"),
            "target 'tpu-v5p-100': expected a slice that exists (8, 16, 32, 64 or a multiple of "
            "128 up to 12288 cores), got 100");
  EXPECT_NE(error_of("tpu-v5p-9").find("got 9"), std::string::npos);
  EXPECT_NE(error_of("tpu-v5p-24576").find("up to 12288"), std::string::npos);
  EXPECT_EQ(error_of("tpu-v5litepod-512"),
            "target 'tpu-v5litepod-512': expected a slice that exists (1, 4, 8, 16, 32, 64, 128, "
            "256 devices), got 512");
  EXPECT_EQ(error_of("tpu:v5p:3x8x8"),
            "target 'tpu:v5p:3x8x8': expected a slice that exists (2x2x1, 2x2x2, 2x2x4, 2x4x4 or "
            "three multiples of 4 with a product of at most 6144), got 3x8x8");
  EXPECT_NE(error_of("tpu:v5e:4x4x4").find("expected a slice that exists"), std::string::npos);
  EXPECT_EQ(error_of("gpu-H100-12"),
            "target 'gpu-H100-12': expected 1 to 8 devices or a multiple of 8, the devices of one "
            "node, got 12; nearest: 8 and 16");
  EXPECT_EQ(error_of("gpu:h100:1x16"),
            "target 'gpu:h100:1x16': expected NODESxDEVICES with at most 8 devices a node, as in "
            "1x8, got 1x16");
  EXPECT_EQ(error_of("gpu:h100:8"),
            "target 'gpu:h100:8': expected NODESxDEVICES with at most 8 devices a node, as in 1x8, "
            "got 8");
  EXPECT_EQ(error_of("gpu:h100:99999999x8"),
            "target 'gpu:h100:99999999x8': expected counts joined by x (as in 2x4) of at most "
            "1000000, got '99999999'");
  EXPECT_EQ(error_of("gpu:h100:0x8"),
            "target 'gpu:h100:0x8': expected counts joined by x (as in 2x4) of at least 1, got "
            "'0'");
  EXPECT_EQ(error_of("cpu:0"),
            "target 'cpu:0': expected a number of virtual devices of at least 1, got '0'");
  EXPECT_EQ(error_of("gpu:h100:2x"),
            "target 'gpu:h100:2x': expected counts joined by x (as in 2x4), got ''");
  EXPECT_EQ(error_of("gpu-H100-8-2"),
            "target 'gpu-H100-8-2': expected one number (only TPUs come in slices), got '8-2'");
}

TEST(ParseTarget, CountsAreNumbersOfDevices) {
  for (const char* text : {"cpu-0", "gpu-H100-0", "tpu-v5p-00"})
    EXPECT_THAT(error_of(text), HasSubstr("expected a number of devices of at least 1, got '0"))
        << text;
  EXPECT_THAT(error_of("cpu-99999999999999999999"),
              HasSubstr("expected a number of devices of at most 1000000, got '99999999999999999999"
                        "'"));
  EXPECT_THAT(error_of("tpu-v5litepod-256-0"),
              HasSubstr("expected a number of slices of at least 1, got '0'"));
}

TEST(ParseTarget, MalformedOnes) {
  for (const char* text : {"",
                           "cpu",
                           "cpu:",
                           "cpu:0",
                           "cpu:-1",
                           "cpu:2:2",
                           "cpu:99999999999999999999",
                           "tpu:",
                           "tpu:v5e",
                           "tpu:v5e:",
                           "tpu:v5e:2x",
                           "tpu:v5e:2x4:0",
                           "tpu:v5e:2x4:1:1",
                           "gpu:h100:8",
                           "gpu:h100:1x8:2",
                           "gpu-H100-0",
                           "-8",
                           "8",
                           ":",
                           "tpu-v5p-8-0"}) {
    EXPECT_EQ(error_of(text).find("target '" + std::string(text) + "': "), 0u) << error_of(text);
  }
}

}  // namespace
}  // namespace axle
