// The parts that residual blocks with one norm share: PreNorm and PostNorm.
#pragma once

#include "layers/blocks/mixer.h"
#include "layers/dropout.h"
#include "layers/norms/norm.h"
#include "ops/elementwise/arithmetic.h"

namespace axle {

/// A block with a norm, a mixer as its body, and dropout on the result of the body.
class NormedResidual : public Block {
 public:
  bool can_decode() const override { return true; }

 protected:
  /// `cfg` has the fields norm, body and dropout.
  template <class Config>
  NormedResidual(const Config& cfg, const Dims& dims, const Scope& scope)
      : Block(scope),
        norm_(child("norm", cfg.norm, {.input_dim = dims.model_dim})),
        body_(child("body", cfg.body, dims)),
        dropout_(child("dropout", cfg.dropout, {})) {}

  /// Returns x + dropout(y).
  Tensor add(const Tensor& x_BTD, const Tensor& y_BTD) {
    return x_BTD + (dropout_ ? (*dropout_)(y_BTD) : y_BTD);
  }

  Handle<Norm> norm_;
  Handle<Mixer> body_;
  std::optional<Handle<Dropout>> dropout_;
};

}  // namespace axle
