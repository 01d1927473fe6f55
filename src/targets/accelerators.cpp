// The table of accelerators.
//
// Sources of rates, memory and shapes:
//   TPU       Google Cloud's page of each generation (peak, bandwidth, slice shapes). The memory is
//             what the TPU compiler reports as available when a program is too large.
//   NVIDIA    the data sheets of A100, H100, H200 (SXM) and HGX B200, dense rates. Memory, cores
//             and caches are what the devices report, which are also the figures of OpenXLA's
//             target descriptions. For the memory of the H200 see h200_facts().
//   Trainium  AWS's pages of the Trn1 and Trn2 instances, divided among the cores that the plugin
//             shows as devices.
//   MI300X    AMD's data sheet.
//
// Sources of network rates, for one direction:
//   GPU fast  NVLink and Infinity Fabric: half of what the same data sheets print for both
//             directions.
//   GPU slow  one 400 Gb/s adapter per GPU (A100: 200 Gb/s), as in the makers' reference systems.
//   TPU fast  the links between chips, from Google Cloud's page of each generation.
//   TPU slow  the network per chip, from that page or from the machine types.
#include "targets/accelerators.h"

#include <fmt/format.h>

#include <algorithm>

namespace axle {
namespace {

constexpr int64_t gib(double n) { return static_cast<int64_t>(n * 1024 * 1024 * 1024); }

/// The facts about a GPU that XLA's CUDA compiler asks for and that differ between the rows of this
/// table. cuda_description adds the others.
struct CudaFacts {
  std::string_view name;
  int compute_major;
  std::string_view features;
  int num_cores, fpus_per_core;
  int64_t memory_bytes, bandwidth, l2_bytes, shared_bytes_per_core, shared_bytes_per_block_optin;
  double clock_ghz;
};

std::string cuda_description(const CudaFacts& gpu) {
  std::string out = fmt::format(
      "gpu_device_info {{\n  name: \"{}\" device_vendor: \"NVIDIA Corporation\"\n"
      "  cuda_compute_capability {{ major: {} feature_extension: {} }}\n"
      "  core_count: {} fpus_per_core: {} clock_rate_ghz: {}\n"
      "  device_memory_size: {} memory_bandwidth: {} l2_cache_size: {}\n"
      "  shared_memory_per_core: {} shared_memory_per_block_optin: {}\n",
      gpu.name, gpu.compute_major, gpu.features, gpu.num_cores, gpu.fpus_per_core, gpu.clock_ghz,
      gpu.memory_bytes, gpu.bandwidth, gpu.l2_bytes, gpu.shared_bytes_per_core,
      gpu.shared_bytes_per_block_optin);
  out +=
      "  shared_memory_per_block: 49152 threads_per_block_limit: 1024 threads_per_warp: 32\n"
      "  threads_per_core_limit: 2048 registers_per_core_limit: 65536\n"
      "  registers_per_block_limit: 65536 device_address_bits: 64\n"
      "  block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535\n"
      "  thread_dim_limit_x: 1024 thread_dim_limit_y: 1024 thread_dim_limit_z: 64\n"
      "  driver_version: \"13.0.0\" runtime_version: \"13.0.0\"\n"
      "  compile_time_toolkit_version: \"13.0.0\" dnn_version: \"9.10.0\"\n}\n"
      "platform_name: \"CUDA\"\n"
      "dnn_version_info { major: 9 minor: 10 patch: 0 }\n";
  return out + fmt::format("device_description_str: \"{}\"\n", gpu.name);
}

constexpr double kGB = 1e9;

struct Networks {
  double fast, slow;
};

Accelerator gpu_row(std::string name, std::string machine_prefix, double peak_bf16_flops,
                    Networks networks, const CudaFacts& facts) {
  return {.name = std::move(name),
          .platform = "cuda",
          .machine_prefix = std::move(machine_prefix),
          .memory_bytes = facts.memory_bytes,
          .peak_bf16_flops = peak_bf16_flops,
          .memory_bandwidth = static_cast<double>(facts.bandwidth),
          .fast_network = networks.fast,
          .slow_network = networks.slow,
          .devices_per_host = 8,
          .description = cuda_description(facts)};
}

constexpr CudaFacts kA100 = {.name = "NVIDIA A100-SXM4-80GB",
                             .compute_major = 8,
                             .features = "NONE",
                             .num_cores = 108,
                             .fpus_per_core = 64,
                             .memory_bytes = 85'100'068'864,
                             .bandwidth = 2'039'040'000'000,
                             .l2_bytes = 41'943'040,
                             .shared_bytes_per_core = 167'936,
                             .shared_bytes_per_block_optin = 166'912,
                             .clock_ghz = 1.41};
constexpr CudaFacts kH100 = {.name = "NVIDIA H100 80GB HBM3",
                             .compute_major = 9,
                             .features = "ACCELERATED_FEATURES",
                             .num_cores = 132,
                             .fpus_per_core = 128,
                             .memory_bytes = 84'942'979'072,
                             .bandwidth = 3'352'320'000'000,
                             .l2_bytes = 52'428'800,
                             .shared_bytes_per_core = 233'472,
                             .shared_bytes_per_block_optin = 232'448,
                             .clock_ghz = 1.98};
constexpr CudaFacts h200_facts() {
  CudaFacts out = kH100;  // the same chip with larger and faster memory
  out.name = "NVIDIA H200";
  // 139.8 GiB as CUDA reports it, which we know only to a tenth. nvidia-smi shows 143,771 MiB,
  // which includes the driver's own memory. The 141 GB of the data sheet match neither.
  out.memory_bytes = int64_t{143'155} << 20;
  out.bandwidth = 4'800'000'000'000;
  return out;
}
constexpr CudaFacts kB200 = {.name = "NVIDIA B200",
                             .compute_major = 10,
                             .features = "ACCELERATED_FEATURES",
                             .num_cores = 148,
                             .fpus_per_core = 128,
                             .memory_bytes = 191'514'411'008,
                             .bandwidth = 7'672'320'000'000,
                             .l2_bytes = 132'644'864,
                             .shared_bytes_per_core = 233'472,
                             .shared_bytes_per_block_optin = 232'448,
                             .clock_ghz = 1.965};

std::vector<Accelerator> make_rows() {
  const std::vector<std::vector<int64_t>> small_tori = {{2, 2, 1}, {2, 2, 2}, {2, 2, 4}, {2, 4, 4}};
  const std::vector<std::vector<int64_t>> planes = {{1, 1}, {2, 2}, {2, 4},  {4, 4},
                                                    {4, 8}, {8, 8}, {8, 16}, {16, 16}};
  return {
      {.name = "cpu", .platform = "cpu", .machine_prefix = "cpu"},
      {.name = "v4",
       .platform = "tpu",
       .machine_prefix = "tpu-v4",
       .memory_bytes = gib(30.75),
       .peak_bf16_flops = 275e12,
       .memory_bandwidth = 1228e9,
       .fast_network = 300 * kGB,
       .slow_network = 6.25 * kGB,
       .devices_per_host = 4,
       .cores_per_device = 2,
       // Makes the two cores of a chip one device, as programs see them. By default the compiler
       // makes each core a device.
       .topology_options = {{"chip_config_name", "megacore"}},
       .slice_shapes = small_tori,
       .max_torus_devices = 4096},
      {.name = "v5e",
       .platform = "tpu",
       .machine_prefix = "tpu-v5litepod",
       .memory_bytes = gib(15.75),
       .peak_bf16_flops = 197e12,
       .memory_bandwidth = 819e9,
       .fast_network = 200 * kGB,
       .slow_network = 3.125 * kGB,
       .devices_per_host = 4,
       .slice_shapes = planes},
      {.name = "v5p",
       .platform = "tpu",
       .machine_prefix = "tpu-v5p",
       .memory_bytes = gib(95.73),
       .peak_bf16_flops = 459e12,
       .memory_bandwidth = 2765e9,
       .fast_network = 600 * kGB,
       .slow_network = 6.25 * kGB,
       .devices_per_host = 4,
       .cores_per_device = 2,
       .slice_shapes = small_tori,
       .max_torus_devices = 6144},
      {.name = "v6e",
       .platform = "tpu",
       .machine_prefix = "tpu-v6e",
       .memory_bytes = gib(31.24),
       .peak_bf16_flops = 918e12,
       .memory_bandwidth = 1640e9,
       .fast_network = 400 * kGB,
       .slow_network = 12.5 * kGB,
       .devices_per_host = 4,
       .slice_shapes = planes},
      gpu_row("a100", "gpu-A100", 312e12, {300 * kGB, 25 * kGB}, kA100),
      gpu_row("h100", "gpu-H100", 989.4e12, {450 * kGB, 50 * kGB}, kH100),
      gpu_row("h200", "gpu-H200", 989.4e12, {450 * kGB, 50 * kGB}, h200_facts()),
      gpu_row("b200", "gpu-B200", 2250e12, {900 * kGB, 50 * kGB}, kB200),
      {.name = "mi300x",
       .platform = "rocm",
       .machine_prefix = "gpu-MI300X",
       .memory_bytes = gib(192),
       .peak_bf16_flops = 1307.4e12,
       .memory_bandwidth = 5.3e12,
       .fast_network = 448 * kGB,
       .slow_network = 50 * kGB,
       .devices_per_host = 8},
      // A host has 16 chips of 2 cores. Each core is a device.
      {.name = "trn1",
       .platform = "neuron",
       .machine_prefix = "neuron-trn1.32xlarge",
       .memory_bytes = gib(16),
       .peak_bf16_flops = 95e12,
       .memory_bandwidth = 410e9,
       .devices_per_host = 32},
      // A host has 16 chips of 8 cores. The plugin shows a chip as 4 devices of 2 cores each.
      {.name = "trn2",
       .platform = "neuron",
       .machine_prefix = "neuron-trn2.48xlarge",
       .memory_bytes = gib(24),
       .peak_bf16_flops = 166.75e12,
       .memory_bandwidth = 725e9,
       .devices_per_host = 64},
  };
}

}  // namespace

const std::vector<Accelerator>& accelerators() {
  static const std::vector<Accelerator> rows = make_rows();
  return rows;
}

const Accelerator* find_accelerator(std::string_view name) {
  const auto& rows = accelerators();
  const auto row = std::ranges::find(rows, name, &Accelerator::name);
  return row == rows.end() ? nullptr : &*row;
}

}  // namespace axle
