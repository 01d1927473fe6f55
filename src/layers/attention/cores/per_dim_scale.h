// A learned scale for each element of a head.
//
// Source: AXLearn, PerDimScale; used by PaLM-2-like models.
#pragma once

#include "nn/layer.h"

namespace axle {

/// y = x * softplus(scale) / softplus(0), over the last dim. Parameter: scale[head_dim], initially
/// zeros, so that y = x.
class PerDimScale final : public LayerRole<PerDimScale, Tensor(const Tensor& x)> {
 public:
  /// The size of the last dim of x, given by the core.
  struct Dims {
    /// Size of one head.
    Positive<int64_t> head_dim;
    AXLE_CONFIG(Dims, head_dim)
  };
  static constexpr InputNames kInputs = {"x"};
  struct Config {
    AXLE_CONFIG(PerDimScale)
  };
  PerDimScale(const Config&, const Dims& dims, const Scope& scope);
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  Param scale_;
};

}  // namespace axle
