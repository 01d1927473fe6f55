// A block whose result other layers may read.
#pragma once

#include "config/axle_config.h"
#include "layers/blocks/mixer.h"

namespace axle {

/// x -> body(x), published under a name for the layers after it (SourceQKV). Shapes: x_BTD ->
/// y_BTD.
class Published final : public Block {
 public:
  struct Config {
    /// The name under which the result is published.
    std::string name = "source";
    /// The block that computes the result.
    Child<Block> body = {};
    AXLE_CONFIG(Published, name, body)
  };
  Published(const Config& cfg, const Dims& dims, const Scope& scope)
      : Block(scope), name_(cfg.name), body_(child("body", cfg.body, dims)) {}
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext& context) override {
    const Tensor y_BTD = body_(x_BTD, context);
    publish(name_, y_BTD);
    return y_BTD;
  }

 private:
  std::string name_;
  Handle<Block> body_;
};

}  // namespace axle
