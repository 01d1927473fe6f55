// Sets the remat policy of layers: which values they keep for the backward pass.
#pragma once

#include "modifiers/modifier.h"
#include "nn/layer.h"
#include "nn/remat_policies.h"

namespace axle {

/// Sets the option `@remat` of every layer slot whose path matches.
class SetRemat final : public Modifier {
 public:
  struct Config {
    /// Pattern of slot paths: "model.decoder.layers.layer"; "**.layer" for any depth.
    std::string at = {};
    /// Remat policy of these layers; none: no remat, all values are kept.
    std::optional<Fn<RematPolicy()>> policy = {};
    AXLE_CONFIG(SetRemat, at, policy)
  };
  SetRemat(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {}
  std::vector<Rewrite> apply(ConfigRef root) const override;

 private:
  Config cfg_;
};

/// Shorthands for rules: remat("**.layer", save("qkv", "attention_output")).
SetRemat::Config remat(std::string at, Fn<RematPolicy()> policy);
template <std::convertible_to<std::string>... N>
SaveNames save(N... names) {
  return {.names = {names...}};
}

}  // namespace axle
