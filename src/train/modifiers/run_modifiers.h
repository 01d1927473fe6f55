// Modifiers of a run: its dtypes, gradient accumulation, and averages of the parameters.
#pragma once

#include "learn/learner.h"
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

/// Sets the field `microbatches` of the learner: a batch is computed in microbatches, one after
/// another. The batch, the number of steps and the gradient stay the same.
class GradientAccumulation final : public Modifier {
 public:
  struct Config {
    /// Number of microbatches; it must divide the rows of a batch.
    Required<Positive<int64_t>> microbatches = REQUIRED;
    AXLE_CONFIG(GradientAccumulation, microbatches)
  };
  GradientAccumulation(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {}
  /// Throws ConfigError if the tree has no learner with this field.
  std::vector<Rewrite> apply(ConfigRef root) const override;

 private:
  Config cfg_;
};

/// Sets the field `ema` of the learner: it keeps an exponential moving average of the parameters.
class SetEma final : public Modifier {
 public:
  struct Config {
    /// The average; a number is its decay; none: no average is kept.
    std::optional<ParamEma> ema = ParamEma{};
    AXLE_CONFIG(SetEma, ema)
  };
  SetEma(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {}
  /// Throws ConfigError if the tree has no learner with this field.
  std::vector<Rewrite> apply(ConfigRef root) const override;

 private:
  Config cfg_;
};

}  // namespace axle
