// The FLOP count behind MFU: the operations that the model itself needs for a step.
#pragma once

#include <string>

#include "train/programs.h"

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
ModelFlops model_flops(const ProgramParts& parts);

}  // namespace axle
