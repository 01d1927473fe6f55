// The dtypes that a run stores parameters in and computes with.
#pragma once

#include "modifiers/modifier.h"
#include "nn/init_rules.h"

namespace axle {

/// Sets the dtypes of parameters, for a part of the model and by their names, and the dtype that a
/// step computes in.
class DtypePolicy final : public Modifier {
 public:
  struct Config {
    /// Type that the parameters of the layers at `at`, and below, are stored in; none: not set.
    std::optional<FloatDType> params = {};
    /// Types of parameters by name, in these layers; the first rule that matches beats `params`.
    std::vector<DTypeRule> rules = {};
    /// Type that the layers at `at`, and below, compute in; none: not set. For the whole model it
    /// is the field compute_dtype, which parameters and inputs are cast to at the start of a step.
    std::optional<FloatDType> compute = {};
    /// Pattern of the paths of layer slots: "model", "model.decoder.layers".
    std::string at = "model";
    AXLE_CONFIG(DtypePolicy, params, rules, compute, at)
  };
  /// Throws ConfigError if nothing is to be set.
  DtypePolicy(const Config& cfg, const Dims&, const Scope& scope);
  /// Throws NoMatch if no layer matches, or if a rule matches no parameter; ConfigError if the root
  /// has no field `compute_dtype`.
  std::vector<Rewrite> apply(ConfigRef root) const override;

 private:
  Config cfg_;
  bool allow_none_;
};

}  // namespace axle
