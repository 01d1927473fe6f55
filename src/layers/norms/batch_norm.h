// Batch normalisation.
//
// Source: Ioffe & Szegedy 2015, arXiv 1502.03167, algorithms 1 and 2.
#pragma once

#include "layers/norms/norm.h"

namespace axle {

/// x -> (x - mean) / sqrt(variance + eps) * scale + bias, with the statistics of each channel:
/// those of the batch in training, else their moving averages over past batches.
///
/// Shapes: x[..., D] f32|bf16 -> y[..., D], dtype of x. With segment_ids, x is [B, T, ..., D] and
/// padding does not count. A batch of padding alone leaves the moving averages as they are.
/// Numerics: statistics are computed and kept in f32. In a program over a mesh they go over the
/// whole global batch.
/// Parameters: scale[D], bias[D]. State: moving_mean[D] and moving_variance[D], f32; training sets
/// them to decay * old + (1 - decay) * that of the batch. Evaluation and decoding read them.
class BatchNorm final : public Norm {
 public:
  struct Config {
    /// The part of the old moving averages that each batch keeps.
    FractionBelowOne decay = 0.999;
    /// Added to the variance before the square root.
    Positive<float> eps = 1e-6f;
    AXLE_CONFIG(BatchNorm, decay, eps)
  };
  BatchNorm(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  Tensor forward(const Tensor& x, const std::optional<Tensor>& segment_ids) override;

 private:
  Config cfg_;
  Param scale_, bias_;
};

}  // namespace axle
