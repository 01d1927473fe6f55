// The role Norm, and the norms of each vector by itself: RMSNorm, LayerNorm and L2Norm.
#pragma once

#include <optional>

#include "ir/tensor.h"
#include "nn/layer.h"

namespace axle {

/// x[..., D] -> y[..., D], dtype of x.
///
/// Most norms treat each vector by itself and override forward(x). A norm whose statistics go over
/// several vectors overrides forward(x, segment_ids) and can_decode.
class Norm
    : public LayerRole<Norm, Tensor(const Tensor& x, const std::optional<Tensor>& segment_ids)> {
 public:
  /// The size of the vectors, given by the parent layer.
  struct Dims {
    /// Size of the last dim of x.
    Positive<int64_t> input_dim;
    AXLE_CONFIG(Dims, input_dim)
  };
  /// segment_ids: i32[B, T] for x[B, T, ..., D]. Vectors with the id 0 are padding, which no
  /// statistics count. None: the ids of the current call (Invocation::segment_ids).
  static constexpr InputNames kInputs = {"x", "segment_ids"};
  static constexpr InputVectors kVectors = {&Dims::input_dim};
  static constexpr bool kKeepsType = true;
  using LayerRole::LayerRole;
  using LayerRole::operator();
  Tensor operator()(const Tensor& x) { return (*this)(x, std::nullopt); }
  /// The segment ids of a call that passes some.
  static const std::optional<Tensor>& segments_of(const Tensor&, const std::optional<Tensor>& ids) {
    return ids;
  }
  bool can_decode() const override { return true; }

 protected:
  friend LayerRole;
  /// Normalises each vector by itself.
  virtual Tensor forward(const Tensor& x);
  Tensor forward(const Tensor& x, const std::optional<Tensor>&) override { return forward(x); }
};

extern template class LayerRole<Norm, Norm::Signature>;

struct Moments {
  Tensor mean, variance;
};
/// Returns mean and variance over `axes`, which are kept with size 1. Only vectors where `is_real`
/// (real_tokens of x) is true count. The variance takes two passes.
Moments moments_of_real(const Tensor& x, const std::vector<int64_t>& axes,
                        const std::optional<Tensor>& is_real);

// Root-mean-square normalisation.
//
// Source: Zhang & Sennrich 2019, arXiv 1910.07467, equation 4. The scale around one: Gemma Team
// 2024, arXiv 2403.08295.

/// What an RMSNorm keeps around zero.
enum class ZeroCentred { kNone, kInput, kScale };
constexpr auto texts_of(ZeroCentred) {
  return std::to_array<EnumText<ZeroCentred>>({{ZeroCentred::kNone, "none"},
                                               {ZeroCentred::kInput, "input"},
                                               {ZeroCentred::kScale, "scale"}});
}

/// x -> x / sqrt(mean(x^2) + eps) * scale, over the last dim.
///
/// Shapes: x[..., D] f32|bf16 -> y[..., D], dtype of x.
/// Numerics: the normalised x is computed in f32 and rounded to the dtype of x before the product
/// with scale. A scale around one is multiplied in f32, before rounding.
/// Parameters: scale[D].
class RMSNorm final : public Norm {
 public:
  struct Config {
    /// Added to the mean square before the square root.
    Positive<float> eps = 1e-6f;
    /// none: as above. input: the mean of x is subtracted from the dividend, but not from the x
    /// under the root. scale: the factor is 1 + scale, and scale starts at 0.
    ZeroCentred zero_centred = ZeroCentred::kNone;
    AXLE_CONFIG(RMSNorm, eps, zero_centred)
  };
  RMSNorm(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  Positive<float> eps_;
  ZeroCentred zero_centred_;
  Param scale_;
};

// Layer normalisation.
//
// Source: Ba et al. 2016, arXiv 1607.06450.

/// x -> (x - mean(x)) / sqrt(variance(x) + eps) * scale + bias, over the last dim.
///
/// Shapes: x[..., D] f32|bf16 -> y[..., D], dtype of x.
/// Numerics: the normalised x is computed in f32, its variance in two passes, and rounded to the
/// dtype of x before the product with scale.
/// Parameters: scale[D], bias[D].
class LayerNorm final : public Norm {
 public:
  struct Config {
    /// Added to the variance before the square root.
    Positive<float> eps = 1e-6f;
    AXLE_CONFIG(LayerNorm, eps)
  };
  LayerNorm(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  Positive<float> eps_;
  Param scale_;
  Param bias_;
};

/// x -> x / sqrt(sum(x^2) + eps), over the last dim.
///
/// Shapes: x[..., D] f32|bf16 -> y[..., D], dtype of x.
/// Numerics: computed in f32 and rounded once at the end.
class L2Norm final : public Norm {
 public:
  struct Config {
    /// Added to the squared length before the square root.
    Positive<float> eps = 1e-6f;
    AXLE_CONFIG(L2Norm, eps)
  };
  L2Norm(const Config& cfg, const Dims&, const Scope& scope) : Norm(scope), eps_(cfg.eps) {}

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  Positive<float> eps_;
};

}  // namespace axle
