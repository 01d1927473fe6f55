// What MFU counts: the operations that the model itself needs for a step.
#pragma once

#include <string>

#include "train/programs.h"

namespace axle {

struct ModelFlops {
  double count = 0;
  /// Of the operands of most products: its peak is what MFU is a share of.
  DType dtype = DType::kF32;
  /// Why the count is 0; else empty.
  std::string unknown = {};
};

/// Floating-point operations of a training step by the published convention: three times the
/// matrix products of the forward pass, full attention included. For a decoder that is 6 P per
/// token, P the weights that a token is multiplied with, and 12 L d S for attention over S
/// positions in L layers of width d. Recomputation, elementwise work and the optimizer do not
/// count. Traces the forward pass outside of training; a model that is only made for training has
/// no count.
ModelFlops model_flops(const ProgramParts& parts);

}  // namespace axle
