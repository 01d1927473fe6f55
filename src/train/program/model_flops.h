// The FLOP count behind MFU, the operations that the model itself needs for a step, and what it
// tells of the time of a step.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "config/walk.h"
#include "targets/machine_peak.h"
#include "train/program/programs.h"
#include "train/record/metrics.h"

namespace axle {

struct ModelFlops {
  /// FLOP per step; 0 if unknown.
  double count = 0;
  /// Operand dtype of most matrix products. MFU is a share of the machine's peak for this dtype.
  DType dtype = DType::kF32;
  /// Why the count is 0; else empty.
  std::string unknown = {};
};

/// Counts the floating-point operations of a training step by the published convention: three times
/// the matrix products of the forward pass, full attention included. For a decoder that is
/// (6 P + 12 L d S) per token:
///   P  the weights that a token is multiplied with
///   L  layers, of width d
///   S  positions that attention covers
/// Where some parameters are frozen, or a frozen model stands beside, a product counts once, and
/// once more for each operand that has a gradient: weights with adapters cost (4 P + 12 L d S).
/// Recomputation, elementwise work and the optimizer do not count. The forward pass is traced
/// outside of training; a model that only supports training gets no count.
ModelFlops model_flops(const ProgramSpec& spec);

/// Returns lines that name the peak behind mfu, or the reason why mfu stays 0. `peak` is the peak
/// for flops.dtype.
std::vector<std::string> mfu_notes(const ModelFlops& flops, const Peak& peak,
                                   const Topology& topology);

/// Returns the most rows of a batch, as many as given at most, that fit into memory; 0: none.
using RowsThatFit = std::function<int64_t(int64_t rows)>;
/// Returns lines that tell the least time of a step that takes a second or more at the peak, and
/// which batch makes a long one shorter, among those that fit.
std::vector<std::string> step_time_notes(const Slot& config, const ModelFlops& flops,
                                         const Peak& peak, const RowsThatFit& rows_that_fit);

/// Measures the peak of this machine and sets what it and the model tell about the cost of a step.
/// Returns the lines of mfu_notes and step_time_notes.
std::vector<std::string> measure_peak(const ProgramSpec& spec, const Slot& config,
                                      const Topology& topology, const RowsThatFit& rows_that_fit,
                                      StepCost& cost);

}  // namespace axle
