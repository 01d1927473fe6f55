// Clipping by norm, by block, and scaling by path or trust ratio.
#pragma once

#include <map>

#include "config/fields.h"
#include "learn/optimizer.h"
#include "learn/weight_decay.h"

namespace axle {

// Clipping of each parameter by its own root mean square.
//
// Source: Shazeer & Stern 2018, arXiv 1804.04235, section 6 (update clipping).

/// gradient / max(1, rms / max_rms) with the root mean square of each parameter's gradient. Each
/// layer of a Repeat is clipped by itself.
class ClipByBlockRms final : public GradientTransform {
 public:
  struct Config {
    /// Gradients with a larger root mean square are scaled down to this one.
    Positive<double> max_rms = 1;
    AXLE_CONFIG(ClipByBlockRms, max_rms)
  };
  ClipByBlockRms(const Config& cfg, const Dims& dims, const Scope&)
      : max_rms_(cfg.max_rms), params_(dims.params) {}
  UpdateOutputs update(const UpdateInputs& in) const override;

 private:
  double max_rms_;
  Tree<ParamSpec> params_;
};

/// Traced: clips one f32 tensor of the parameter's shape.
Tensor clipped_by_block_rms(const Tensor& x, const ParamSpec& spec, double max_rms);

// Gradient clipping.
//
// Source: Pascanu et al. 2013, arXiv 1211.5063, section 3.2.

/// gradients * min(1, max_norm / (norm + eps)), where norm is the global norm of all gradients.
class ClipByGlobalNorm final : public GradientTransform {
 public:
  struct Config {
    /// Gradients with a larger global norm are scaled down to this norm.
    Positive<double> max_norm = 1;
    /// Added to the norm in the denominator.
    NonNegative<double> eps = 1e-8;
    AXLE_CONFIG(ClipByGlobalNorm, max_norm, eps)
  };
  /// Throws ConfigError unless max_norm is positive.
  ClipByGlobalNorm(const Config& cfg, const Dims& dims, const Scope& scope);
  UpdateOutputs update(const UpdateInputs& in) const override;

 private:
  Config cfg_;
};

/// gradient * scale, with the scale of the pattern that matches the parameter's path; 1 without
/// one. After the optimizer (Learner::update_transforms) it scales the learning rate and the decay
/// of these parameters.
///
/// A pattern may name parameters that are not trained. Throws ConfigError if a pattern matches no
/// parameter, or if two with different scales match one.
class ScaleByPath final : public GradientTransform {
 public:
  struct Config {
    /// Factors by pattern of parameter paths: {"**.lm_head.weight": 0.25}.
    NumbersByPath scales = {};
    AXLE_CONFIG(ScaleByPath, scales)
  };
  ScaleByPath(const Config& cfg, const Dims& dims, const Scope& scope);
  UpdateOutputs update(const UpdateInputs& in) const override;

 private:
  Tree<double> scales_;
};

// The trust ratio: scales the gradient of each parameter to the parameter's own norm.
//
// Source: You et al. 2017, arXiv 1708.03888, section 4 (LARS).

/// gradient * coefficient * |param| / (|gradient| + eps), for each parameter; unchanged if one of
/// the norms is 0. Each layer of a Repeat has norms of its own. Before Sgd this is LARS.
class TrustRatio final : public GradientTransform {
 public:
  struct Config {
    /// Factor of all ratios.
    Positive<double> coefficient = 1;
    /// Added to the norm of the gradient.
    NonNegative<double> eps = 0;
    AXLE_CONFIG(TrustRatio, coefficient, eps)
  };
  TrustRatio(const Config& cfg, const Dims& dims, const Scope&) : cfg_(cfg), params_(dims.params) {}
  UpdateOutputs update(const UpdateInputs& in) const override;

 private:
  Config cfg_;
  Tree<ParamSpec> params_;
};

/// Traced: returns coefficient * |param| / (|update| + eps) for each block (block_axes), with
/// reduced dims of size 1; 1 where a norm is 0. Both tensors are f32.
Tensor trust_ratio(const Tensor& param, const Tensor& update, const ParamSpec& spec,
                   double coefficient = 1, double eps = 0);

/// Passes the gradients on unchanged and reports metrics of them: "<name>/<group>/norm", "/rms",
/// "/max_abs" and "/weight_ratio", the norm divided by that of the parameters. In
/// Learner::transforms these are the gradients at this point of the list. In
/// Learner::update_transforms they are the updates, and weight_ratio shows how far a step moves the
/// parameters.
///
/// Without groups, each parameter is reported under its path, with a number for each layer of a
/// Repeat. A group is one vector of all its elements.
///
/// Throws ConfigError if a pattern matches no parameter.
class ReportGradients final : public GradientTransform {
 public:
  struct Config {
    /// First part of the names of the metrics; "update" among update_transforms.
    std::string name = "gradient";
    /// Groups of parameters: the patterns of their paths, by the name of the group; a parameter may
    /// be in several. {attention: ["**.attention.**"], emb: ["**.emb.weight"]}.
    std::map<std::string, std::vector<std::string>> groups = {};
    AXLE_CONFIG(ReportGradients, name, groups)
  };
  ReportGradients(const Config& cfg, const Dims& dims, const Scope& scope);
  UpdateOutputs update(const UpdateInputs& in) const override;

 private:
  std::string name_;
  Tree<ParamSpec> params_;
  std::map<std::string, std::vector<std::string>> paths_;  // of each group
};

}  // namespace axle
