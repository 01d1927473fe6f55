// A residual around a mixer with a norm at each place that one may stand.
//
// Source: AXLearn, transformer structure "v2".
#pragma once

#include "layers/blocks/join.h"
#include "layers/blocks/mixer.h"
#include "layers/dropout/dropout.h"
#include "layers/norms/rms_norm.h"

namespace axle {

/// x -> out_norm(join(x, dropout(body_norm(body(in_norm(x)))))). A norm that is none is left out.
/// Shapes: x_BTD -> y_BTD, dtype of x.
class Sandwich final : public Block {
 public:
  struct Config {
    /// Norm before the body; none: no norm.
    std::optional<Child<Norm>> in_norm = RMSNorm::Config{};
    /// The mixer inside the residual.
    Child<Mixer> body = {};
    /// Norm of the result of the body; none: no norm.
    std::optional<Child<Norm>> body_norm = {};
    /// Dropout on the result of the body; none: no dropout.
    std::optional<Child<Dropout>> dropout = {};
    /// Joins the result with x.
    Child<Join> join = Add::Config{};
    /// Norm after the residual; none: no norm.
    std::optional<Child<Norm>> out_norm = RMSNorm::Config{};
    AXLE_CONFIG(Sandwich, in_norm, body, body_norm, dropout, join, out_norm)
  };
  Sandwich(const Config& cfg, const Dims& dims, const Scope& scope);
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext& context) override;

 private:
  std::optional<Handle<Norm>> in_norm_;
  Handle<Mixer> body_;
  std::optional<Handle<Norm>> body_norm_;
  std::optional<Handle<Dropout>> dropout_;
  Handle<Join> join_;
  std::optional<Handle<Norm>> out_norm_;
};

}  // namespace axle
