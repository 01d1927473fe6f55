// The frequencies of Tensor2Tensor.
//
// Source: Vaswani et al. 2018, arXiv 1803.07416, code; Whisper and AXLearn use them for sinusoidal
//   positions.
#pragma once

#include "layers/positions/frequencies.h"

namespace axle {

/// theta^(-i / (dim / 2 - 1)) for pair i, from 1 to 1 / theta. One pair has the frequency 1.
struct InclusiveFrequencies {
  Frequencies operator()(const FrequencySpec& spec) const;
  AXLE_CONFIG(InclusiveFrequencies)
};

}  // namespace axle
