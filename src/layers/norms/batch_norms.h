// Norms over several vectors: GroupNorm and BatchNorm.
#pragma once

#include "layers/norms/norm.h"

namespace axle {

// Group normalisation.
//
// Source: Wu & He 2018, arXiv 1803.08494, section 3.1.

/// The statistics by which a GroupNorm divides.
enum class GroupMoments { kLayerNorm, kRMSNorm };
constexpr auto texts_of(GroupMoments) {
  return std::to_array<EnumText<GroupMoments>>(
      {{GroupMoments::kLayerNorm, "layer_norm"}, {GroupMoments::kRMSNorm, "rms_norm"}});
}

/// Splits the channels into groups and normalises each group of each row, then scales each channel:
/// layer_norm: x -> (x - mean) / sqrt(variance + eps) * scale + bias
/// rms_norm:   x -> x / sqrt(mean(x^2) + eps) * scale
///
/// Shapes: x[B, ..., D] f32|bf16 -> y[B, ..., D], dtype of x. With segment_ids, x is
/// [B, T, ..., D].
/// Numerics: as LayerNorm and RMSNorm.
/// Parameters: scale[D], and bias[D] of layer_norm.
/// Throws ConfigError at construction if num_groups does not divide D; ShapeError if `axes` names a
/// dim that x lacks. Decodes only if `axes` is empty: else a token's result depends on others.
class GroupNorm final : public Norm {
 public:
  struct Config {
    /// Number of groups of channels.
    Required<Positive<int64_t>> num_groups = REQUIRED;
    /// Added to the variance or the mean square before the square root.
    Positive<float> eps = 1e-6f;
    /// The statistics: as in LayerNorm or as in RMSNorm.
    GroupMoments moments = GroupMoments::kLayerNorm;
    /// Dims of x that statistics go over besides the channels of a group: [1] stands for the
    /// positions of x[B, T, D], [] for the channels alone. Negative dims count from the end. None:
    /// all dims but the first. Any number is read; a call refuses dims that x lacks.
    std::optional<std::vector<int64_t>> axes = {};
    AXLE_CONFIG(GroupNorm, num_groups, eps, moments, axes)
  };
  GroupNorm(const Config& cfg, const Dims& dims, const Scope& scope);
  bool can_decode() const override { return cfg_.axes && cfg_.axes->empty(); }

 protected:
  Tensor forward(const Tensor& x, const std::optional<Tensor>& segment_ids) override;

 private:
  // Returns the dims to reduce of x after its last dim is split into groups and their channels.
  std::vector<int64_t> reduced(const Tensor& x) const;
  Config cfg_;
  Param scale_;
  std::optional<Param> bias_;
};

// Batch normalisation.
//
// Source: Ioffe & Szegedy 2015, arXiv 1502.03167, algorithms 1 and 2.

/// x -> (x - mean) / sqrt(variance + eps) * scale + bias, with the statistics of each channel:
/// the batch's in training, else their moving averages over past batches.
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
