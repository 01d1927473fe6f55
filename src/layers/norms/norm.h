// The role Norm: layers that normalise their inputs.
#pragma once

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
  /// statistics count. None: those of the current call (Invocation::segment_ids).
  static constexpr InputNames kInputs = {"x", "segment_ids"};
  static constexpr InputVectors kVectors = {&Dims::input_dim};
  static constexpr bool kKeepsType = true;
  using LayerRole::LayerRole;
  using LayerRole::operator();
  Tensor operator()(const Tensor& x) { return (*this)(x, std::nullopt); }
  /// The segment ids of a call that gives some.
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

}  // namespace axle
