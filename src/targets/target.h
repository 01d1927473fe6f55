// Compile targets: machines by their type, present or not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "targets/accelerators.h"

namespace axle {

/// Devices of one kind, their number and their network.
struct Target {
  Accelerator accelerator;
  /// TPU: {4, 8, 8}, the devices along each dim of the torus.
  /// GPU and Trainium: {nodes, devices per node}.
  /// CPU: {devices}.
  std::vector<int64_t> shape;
  /// TPU: number of slices of `shape`, which only the slow network joins. 1 for other devices.
  int64_t num_slices = 1;

  int64_t num_devices() const;
  /// Returns the machine type that mesh rules match: "tpu-v5p-512", "gpu-H100-8", "cpu-8".
  std::string machine() const;
};

/// Reads a target or a machine type. Upper and lower case are the same; the dims of a torus may
/// come in any order. Targets:
///   cpu:8                8 virtual devices
///   tpu:v5p:4x8x8        one slice
///   tpu:v5e:16x16:4      4 slices
///   gpu:h100:32x8        32 nodes of 8 GPUs
///   neuron:trn2:4x64     4 nodes of 64 devices
/// Machine types:
///   cpu-8                8 virtual devices
///   tpu-v5p-512          a slice of 512 cores
///   tpu-v5litepod-256-4  4 slices of 256 devices
///   tpu-v5e-256          the same as tpu-v5litepod-256, by the accelerator's own name
///   gpu-H100-8           8 GPUs in total
/// Throws ConfigError. For an unknown name the message suggests the nearest one; for a size that
/// does not exist it lists those that do.
Target parse_target(std::string_view text);

/// Returns the text that parse_target reads, "tpu:v5p:4x8x8". Equal targets have equal texts.
std::string to_text(const Target& target);

/// Returns the slice with `num_devices` devices. If there are several, it is the one nearest to a
/// cube; none if there is no such slice.
std::optional<std::vector<int64_t>> slice_of(const Accelerator& accelerator, int64_t num_devices);

/// Returns `shape` with its dims in the order in which the accelerator's slices are written; none
/// if there is no such slice.
std::optional<std::vector<int64_t>> known_slice(const Accelerator& accelerator,
                                                std::vector<int64_t> shape);

/// Describes the existing slices by shape: "2x2x1, 2x2x2 or three multiples of 4 with a product of
/// at most 6144".
std::string slice_shapes_text(const Accelerator& accelerator);
/// Describes the existing slices by size, in the unit of machine types (cores, where a device has
/// several): "8, 16, 32, 64 or a multiple of 128 up to 12288".
std::string slice_sizes_text(const Accelerator& accelerator);

/// Returns "4x8x8" for {4, 8, 8}.
std::string shape_text(const std::vector<int64_t>& shape);

}  // namespace axle
