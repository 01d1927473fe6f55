// The parts that residual blocks around one mixer share.
#pragma once

#include "layers/blocks/join.h"
#include "layers/blocks/mixer.h"
#include "layers/dropout/dropout.h"
#include "layers/norms/norm.h"

namespace axle {

/// A block with a norm, a mixer as its body, dropout on the result of the body, and a join.
class NormedResidual : public Block {
 public:
  bool can_decode() const override { return true; }

 protected:
  /// `cfg` has the fields norm, body, dropout and join.
  template <class Config>
  NormedResidual(const Config& cfg, const Dims& dims, const Scope& scope)
      : Block(scope),
        norm_(child("norm", cfg.norm, {.input_dim = dims.model_dim})),
        body_(child("body", cfg.body, dims)),
        dropout_(child("dropout", cfg.dropout, {})),
        join_(child("join", cfg.join, {})) {}

  /// Returns join(x, dropout(y)).
  Tensor joined(const Tensor& x_BTD, const Tensor& y_BTD) {
    return join_(x_BTD, dropout_ ? (*dropout_)(y_BTD) : y_BTD);
  }

  Handle<Norm> norm_;
  Handle<Mixer> body_;
  std::optional<Handle<Dropout>> dropout_;
  Handle<Join> join_;
};

}  // namespace axle
