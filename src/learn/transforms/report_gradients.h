// Statistics of gradients or updates, as metrics.
#pragma once

#include <map>

#include "learn/gradient_transform.h"

namespace axle {

/// Passes the gradients on unchanged and reports metrics of them: "<name>/<group>/norm", "/rms",
/// "/max_abs" and "/weight_ratio", the norm divided by that of the parameters. In
/// Learner::transforms these are the gradients at this place of the list. In
/// Learner::update_transforms they are the updates, and weight_ratio tells how far a step moves the
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
