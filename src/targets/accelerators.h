// The table of accelerators.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace axle {

/// One generation of accelerators: a row of the table in accelerators.cpp. Its figures come from
/// the maker's data sheets.
struct Accelerator {
  std::string name;      // "v5p", "h100", "trn2", "cpu"
  std::string platform;  // of its PJRT plugin: "tpu", "cuda", "neuron", "rocm", "cpu"
  /// Prefix of machine types: "tpu-v5p", "gpu-H100". Targets begin with the word before the dash.
  std::string machine_prefix;
  /// Usable memory of one device in bytes; 0: not known beforehand (CPU).
  int64_t memory_bytes = 0;
  /// Dense FLOP/s of one device in bf16 with f32 accumulation; 0: not known beforehand.
  double peak_bf16_flops = 0;
  /// Memory bandwidth of one device in bytes/s; 0: not known.
  double memory_bandwidth = 0;
  /// Bytes/s that one device can send over all its links, and receive at the same time. The fast
  /// network joins the devices of a TPU slice or a GPU node; the slow network joins these groups.
  /// 0: not known.
  double fast_network = 0, slow_network = 0;
  /// Number of devices on one host. On GPUs the fast network joins exactly these.
  int64_t devices_per_host = 1;
  /// Cores of one device as machine types count them: "tpu-v5p-512" has 512 cores and 256 devices.
  int64_t cores_per_device = 1;
  /// Description of the device that the plugin needs to compile without it (CUDA: a
  /// GpuTargetConfigProto in text form); empty: the plugin needs none.
  std::string description = {};
  /// Options that the plugin's topologies of this accelerator need besides their shape.
  std::map<std::string, std::string> topology_options = {};
  /// TPU: the shapes of the small slices that the cloud offers, smallest first.
  std::vector<std::vector<int64_t>> slice_shapes = {};
  /// TPU: the most devices of a larger slice, which is a torus of three dims, each a multiple of 4.
  /// 0: there are no larger slices.
  int64_t max_torus_devices = 0;

  /// The first word of targets and machine types: "tpu", "gpu", "neuron", "cpu".
  std::string_view kind() const {
    return std::string_view(machine_prefix).substr(0, machine_prefix.find('-'));
  }
};

/// Returns all rows, grouped by kind.
const std::vector<Accelerator>& accelerators();
/// Returns the row with this name; nullptr if there is none.
const Accelerator* find_accelerator(std::string_view name);

}  // namespace axle
