// What a program is compiled for: a machine by its type, whether it is here or not.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace axle {

/// One generation of accelerators: one row of the table (accelerators.cpp), its figures from the
/// maker's data sheets.
struct Accelerator {
  std::string name;      // "v5p", "h100", "trn2", "cpu"
  std::string platform;  // of its plugin: "tpu", "cuda", "neuron", "rocm", "cpu"
  /// How machine types begin: "tpu-v5p", "gpu-H100"; the word before the dash is what targets begin
  /// with.
  std::string machine_prefix;
  /// Bytes that one device can use; 0: not known beforehand (CPU).
  int64_t memory_bytes = 0;
  /// FLOP/s of one device in bf16 with f32 sums, dense; 0: not known beforehand.
  double peak_bf16_flops = 0;
  /// Bytes/s of one device's memory; 0: not known.
  double memory_bandwidth = 0;
  /// Bytes/s that one device sends and at the same time receives, over all its links: among the
  /// devices that the fast network joins (a TPU slice, a GPU node), and beyond them. 0: not known.
  double fast_network = 0, slow_network = 0;
  /// Devices that share one host (and, on GPUs, the fast network).
  int64_t devices_per_host = 1;
  /// What machine types count of each device: "tpu-v5p-512" names 512 cores, which are 256 devices.
  int64_t cores_per_device = 1;
  /// What the plugin needs as text to compile without the device (CUDA: a GpuTargetConfigProto);
  /// empty: nothing.
  std::string description = {};
  /// Options that the plugin's topologies of this accelerator need beside their shape.
  std::map<std::string, std::string> topology_options = {};
  /// TPU: the shapes of small slices, smallest first, as the cloud sells them.
  std::vector<std::vector<int64_t>> slice_shapes = {};
  /// TPU: larger slices are tori of three dims, each a multiple of 4, up to so many devices in all;
  /// 0: there are none.
  int64_t max_torus_devices = 0;

  /// The first word of targets and machine types: "tpu", "gpu", "neuron", "cpu".
  std::string_view kind() const {
    return std::string_view(machine_prefix).substr(0, machine_prefix.find('-'));
  }
};

/// All rows, by kind.
const std::vector<Accelerator>& accelerators();
/// The row of that name; nullptr: there is none.
const Accelerator* find_accelerator(std::string_view name);

/// A number of devices of one kind and how they are wired.
struct Target {
  Accelerator accelerator;
  /// TPU: devices along each dim of the torus, {4, 8, 8}. GPU and Trainium: {nodes, devices of a
  /// node}. CPU: {devices}.
  std::vector<int64_t> shape;
  /// Groups of `shape` that only the slow network joins: TPU slices; 1 for the rest.
  int64_t num_slices = 1;

  int64_t num_devices() const;
  /// The machine type that mesh rules match: "tpu-v5p-512", "gpu-H100-8", "cpu-8".
  std::string machine() const;
};

/// Reads "cpu:8", "tpu:v5p:4x8x8", "tpu:v5e:16x16:4" (4 slices), "gpu:h100:32x8" (nodes x GPUs),
/// "neuron:trn2:4x64" (nodes x cores), or a machine type: "tpu-v5p-512" (cores),
/// "tpu-v5litepod-256-4" (4 slices), "gpu-H100-8" (GPUs in total), "cpu-8"; "tpu-v5e-256", by the
/// accelerator's own name, is the same as "tpu-v5litepod-256". Dims of a torus may come in any
/// order, letters in any case. Throws ConfigError, with the nearest name for what it does not know
/// and the sizes that exist for a size that does not.
Target parse_target(std::string_view text);

/// "tpu:v5p:4x8x8": what parse_target reads; the same target has one text.
std::string to_text(const Target& target);

}  // namespace axle
